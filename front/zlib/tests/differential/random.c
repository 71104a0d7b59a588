/* Random numbers, data, and streams. */
#include <stdlib.h>
#include <string.h>

#include "differential.h"

uint64_t draw(struct rng *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint32_t below(struct rng *r, uint32_t n) { return (uint32_t)((draw(r) >> 32) * n >> 32); }

int between(struct rng *r, int low, int high) {
  return low + (int)below(r, (uint32_t)(high - low + 1));
}

int one_in(struct rng *r, uint32_t n) { return below(r, n) == 0; }

struct rng rng_of(uint64_t seed, int op) {
  struct rng r = {seed * 0x9e3779b97f4a7c15 + (uint64_t)(op + 2) * 0xd1342543de82ef95};
  draw(&r);
  return r;
}

size_t make_length(struct rng *r) {
  if (one_in(r, 3000)) return 150000 + below(r, 2000000);
  if (one_in(r, 500)) return 120000 + below(r, 400000);
  if (one_in(r, 40)) return below(r, 140000);
  if (one_in(r, 6)) return below(r, 9000);
  return below(r, one_in(r, 3) ? 40 : 1200);
}

int make_level(struct rng *r, size_t len) { return between(r, -1, len > 100000 ? 6 : 9); }

static const char *const WORDS[] = {
    "the ", "of ", "and ", "compression ", "window ", "to ", "block\n", "in ", "is ", "length ",
    "0123456789", "distance ", "code ", "a ", "literal, ", "{\"name\": \"", "\"}, ", "Huffman ",
    "tree. ", "<td>", "</td>", "\r\n", "stream ", "state->mode ", "= ", "0x", "ff", "if (", ") {\n",
};

void fill(struct rng *r, unsigned char *at, size_t len) {
  size_t n = 0;
  unsigned kind = below(r, 8);
  switch (kind) {
    case 0: /* incompressible */
      for (; n < len; n++) at[n] = (unsigned char)draw(r);
      return;
    case 1: /* one byte */
      memset(at, (int)below(r, 256), len);
      return;
    case 2: { /* few symbols, unevenly */
      unsigned symbols = 1 + below(r, 20), base = below(r, 256);
      for (; n < len; n++) at[n] = (unsigned char)(base + below(r, 1 + below(r, symbols)));
      return;
    }
    case 3: { /* a period */
      size_t period = 1 + below(r, one_in(r, 2) ? 8 : 40000);
      for (; n < len; n++) at[n] = n < period ? (unsigned char)draw(r) : at[n - period];
      return;
    }
    case 4: { /* runs of everything */
      while (n < len) {
        size_t part = 1 + below(r, 3000);
        if (part > len - n) part = len - n;
        if (one_in(r, 4)) {
          memset(at + n, (int)below(r, 256), part);
        } else if (n && one_in(r, 2)) {
          size_t back = 1 + below(r, (uint32_t)(n < 60000 ? n : 60000));
          for (size_t i = 0; i < part; i++) at[n + i] = at[n + i - back];
        } else {
          unsigned mask = (1u << (1 + below(r, 8))) - 1;
          for (size_t i = 0; i < part; i++) at[n + i] = (unsigned char)(draw(r) & mask);
        }
        n += part;
      }
      return;
    }
    default: { /* text */
      unsigned words = 2 + below(r, LENGTH(WORDS) - 1);
      while (n < len) {
        const char *word = WORDS[below(r, words)];
        for (; *word && n < len; word++) at[n++] = (unsigned char)*word;
        if (n < len && one_in(r, 12)) at[n++] = (unsigned char)(32 + below(r, 90));
      }
    }
  }
}

struct bytes make_data(struct rng *r, size_t len) {
  struct bytes b = {hold(len + 1), len};
  fill(r, b.at, len);
  return b;
}

/* Bits, least significant first. */
struct bits {
  unsigned char *at;
  size_t cap, used;
};

static void put(struct bits *b, unsigned value, int count) {
  for (int i = 0; i < count && b->used < b->cap * 8; i++, b->used++)
    if (value >> i & 1) b->at[b->used / 8] |= (unsigned char)(1 << b->used % 8);
}

/* Lengths of a complete prefix code for `count` of `total` symbols; sometimes of an incomplete or
   over-subscribed one. */
static void make_lengths(struct rng *r, unsigned char *lengths, unsigned total, unsigned count,
                         unsigned limit) {
  unsigned char leaf[320];
  unsigned leaves = 1;
  leaf[0] = 0;
  while (leaves < count) {
    unsigned i = below(r, leaves);
    if (leaf[i] >= limit) {
      for (i = 0; i < leaves && leaf[i] >= limit; i++) {}
      if (i == leaves) break;
    }
    leaf[i]++;
    leaf[leaves] = leaf[i];
    leaves++;
  }
  if (leaves == 1) leaf[0] = 1;
  if (one_in(r, 40)) leaf[below(r, leaves)] = (unsigned char)(1 + below(r, limit));
  for (unsigned i = 0; i < leaves; i++) {
    unsigned at;
    do at = below(r, total);
    while (lengths[at]);
    lengths[at] = leaf[i];
  }
}

static void make_codes(const unsigned char *lengths, unsigned total, uint16_t *codes) {
  unsigned count[16] = {0}, next[17] = {0};
  for (unsigned i = 0; i < total; i++) count[lengths[i]]++;
  count[0] = 0;
  for (unsigned i = 1; i < 16; i++) next[i + 1] = (next[i] + count[i]) << 1;
  for (unsigned i = 0; i < total; i++) {
    unsigned code = lengths[i] ? next[lengths[i]]++ : 0, flipped = 0;
    for (unsigned k = 0; k < lengths[i]; k++) flipped |= (code >> k & 1) << (lengths[i] - 1 - k);
    codes[i] = (uint16_t)flipped;
  }
}

static const unsigned char ORDER[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

static unsigned length_extra(unsigned symbol) {
  return symbol < 265 || symbol >= 285 ? 0 : (symbol - 261) / 4;
}

static unsigned distance_extra(unsigned symbol) { return symbol < 4 ? 0 : symbol / 2 - 1; }

/* One block of random symbols, with codes that no compressor makes. */
static void make_block(struct rng *r, struct bits *b, int last) {
  unsigned char lit[320] = {0}, dist[32] = {0}, cl[19] = {0};
  uint16_t lit_codes[320], dist_codes[32], cl_codes[19];
  unsigned literals = 257 + below(r, 30), distances = 1 + below(r, 30);
  put(b, (unsigned)last, 1);
  int type = one_in(r, 60) ? 3 : between(r, 0, 2);
  put(b, (unsigned)type, 2);
  if (type == 3) return;
  if (type == 0) {
    unsigned len = below(r, one_in(r, 2) ? 3 : 700);
    b->used = (b->used + 7) / 8 * 8;
    put(b, len, 16);
    put(b, one_in(r, 60) ? len : ~len, 16);
    while (len--) put(b, (unsigned)draw(r) & 255, 8);
    return;
  }
  if (type == 1) {
    literals = 288, distances = 30;
    for (unsigned i = 0; i < 288; i++) lit[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(dist, 5, 32);
    make_codes(dist, 32, dist_codes);
  } else {
    unsigned symbols = 2 + below(r, one_in(r, 2) ? 8 : literals - 2);
    make_lengths(r, lit, literals - 1, symbols - 1, 15);
    if (!lit[256]) {
      /* The end of the block takes the code of some other symbol. */
      for (unsigned i = below(r, literals), k = 0; k < literals; k++, i = (i + 1) % literals)
        if (lit[i]) {
          lit[256] = lit[i], lit[i] = 0;
          break;
        }
    }
    if (!one_in(r, 8)) make_lengths(r, dist, distances, one_in(r, 3) ? 1 : 1 + below(r, distances), 15);
    make_codes(dist, distances, dist_codes);
    /* The lengths, each by its own symbol, some in runs. */
    unsigned char all[320], symbols_out[320], extra[320];
    unsigned total = 0, n = 0;
    memcpy(all, lit, literals);
    memcpy(all + literals, dist, distances);
    for (unsigned i = 0; i < literals + distances; total++) {
      unsigned run = 1;
      while (i + run < literals + distances && all[i + run] == all[i]) run++;
      if (!all[i] && run >= 11 && !one_in(r, 9)) {
        run = run > 138 ? 138 : run;
        symbols_out[total] = 18, extra[total] = (unsigned char)(run - 11), i += run;
      } else if (!all[i] && run >= 3) {
        run = run > 10 ? 10 : run;
        symbols_out[total] = 17, extra[total] = (unsigned char)(run - 3), i += run;
      } else if (i && all[i] == all[i - 1] && run >= 3 && !one_in(r, 9)) {
        run = run > 6 ? 6 : run;
        symbols_out[total] = 16, extra[total] = (unsigned char)(run - 3), i += run;
      } else {
        symbols_out[total] = all[i], extra[total] = 0, i++;
      }
    }
    /* All nineteen: thirteen codes of four bits and six of five. */
    for (unsigned i = 0; i < 19; i++) cl[i] = i < 13 ? 4 : 5;
    make_codes(cl, 19, cl_codes);
    put(b, literals - 257, 5);
    put(b, distances - 1, 5);
    put(b, 15, 4);
    for (n = 0; n < 19; n++) put(b, cl[ORDER[n]], 3);
    for (n = 0; n < total; n++) {
      unsigned s = symbols_out[n];
      put(b, cl_codes[s], cl[s]);
      if (s >= 16) put(b, extra[n], s == 16 ? 2 : s == 17 ? 3 : 7);
    }
  }
  make_codes(lit, literals, lit_codes);
  unsigned usable[320], count = 0;
  for (unsigned i = 0; i < literals; i++)
    if (lit[i] && i != 256 && (i < 286 || one_in(r, 50))) usable[count++] = i;
  unsigned near_distance = one_in(r, 4) ? 30 : 8;
  for (unsigned n = count ? below(r, one_in(r, 4) ? 900 : 60) : 0; n; n--) {
    unsigned s = usable[below(r, count)];
    put(b, lit_codes[s], lit[s]);
    if (s < 256) continue;
    if (s < 286) put(b, (unsigned)draw(r) & ((1u << length_extra(s)) - 1), (int)length_extra(s));
    unsigned d = below(r, distances < near_distance ? distances : near_distance), tries = 0;
    while (!dist[d] && tries++ < 40) d = (d + 1) % distances;
    put(b, dist_codes[d], dist[d]);
    if (d < 30) put(b, (unsigned)draw(r) & ((1u << distance_extra(d)) - 1), (int)distance_extra(d));
  }
  if (!one_in(r, 40)) put(b, lit_codes[256], lit[256]);
}

/* A stream of blocks of our own making: whether it is valid, the libraries say. */
static void make_blocks(struct rng *r, struct made *m) {
  struct bits b = {hold(1 << 14), (1 << 14) - 20, 0};
  size_t front = 0;
  memset(b.at, 0, 1 << 14);
  if (m->wrap == 1) {
    b.at[0] = (unsigned char)(8 | (m->bits - 8) << 4);
    b.at[1] = (unsigned char)(31 - (b.at[0] << 8) % 31);
    front = 2;
  } else if (m->wrap == 2) {
    memcpy(b.at, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
    front = 10;
  }
  b.used = front * 8;
  /* Literals for the distances to come. */
  if (!one_in(r, 3)) {
    unsigned len = 1 + below(r, 300);
    put(&b, 0, 3);
    b.used = (b.used + 7) / 8 * 8;
    put(&b, len, 16);
    put(&b, ~len, 16);
    while (len--) put(&b, (unsigned)draw(r) & 255, 8);
  }
  for (int n = between(r, 1, 4); n; n--) make_block(r, &b, n == 1);
  m->stream.at = b.at;
  m->stream.len = (b.used + 7) / 8;
  /* A right check value, if the stream can be decoded at all. */
  z_stream z = {0};
  unsigned char *out = hold(1 << 20);
  z.next_in = b.at + front, z.avail_in = (uInt)(m->stream.len - front);
  z.next_out = out, z.avail_out = 1 << 20;
  if (libs[STOCK].inflateInit2_(&z, -15, ZLIB_VERSION, sizeof z) == Z_OK) {
    int rc = libs[STOCK].inflate(&z, Z_FINISH);
    if (rc == Z_STREAM_END && z.avail_in == 0) {
      uLong sum = m->wrap == 2 ? libs[STOCK].crc32(0, out, (uInt)z.total_out)
                               : libs[STOCK].adler32(1, out, (uInt)z.total_out);
      m->plain.at = out, m->plain.len = z.total_out;
      for (int i = 0; i < 4 && m->wrap; i++)
        m->stream.at[m->stream.len++] = (unsigned char)(sum >> (m->wrap == 2 ? 8 * i : 24 - 8 * i));
      for (int i = 0; i < 4 && m->wrap == 2; i++)
        m->stream.at[m->stream.len++] = (unsigned char)(z.total_out >> 8 * i);
    }
    libs[STOCK].inflateEnd(&z);
  }
}

void make_stream(struct rng *r, struct made *m, int wrap) {
  memset(m, 0, sizeof *m);
  m->wrap = wrap < 0 ? between(r, 0, 2) : wrap;
  m->bits = one_in(r, 3) ? between(r, 9, 15) : 15;
  if (one_in(r, 4)) {
    make_blocks(r, m);
    return;
  }
  m->plain = make_data(r, make_length(r));
  z_stream z = {0};
  gz_header head = {0};
  int bits = m->wrap == 0 ? -m->bits : m->wrap == 1 ? m->bits : m->bits + 16;
  int level = m->plain.len > 200000 ? between(r, 0, 2) : between(r, -1, 9);
  if (libs[STOCK].deflateInit2_(&z, level, Z_DEFLATED, bits, between(r, 1, 9), between(r, 0, 4),
                                ZLIB_VERSION, sizeof z) != Z_OK)
    abort();
  if (m->wrap == 2 && one_in(r, 2)) {
    head.text = between(r, 0, 1), head.time = (uLong)draw(r) & 0xffffffff, head.os = between(r, 0, 255);
    head.hcrc = between(r, 0, 1);
    if (one_in(r, 2)) {
      struct bytes extra = make_data(r, below(r, one_in(r, 8) ? 60000 : 100));
      head.extra = extra.at, head.extra_len = (uInt)extra.len;
    }
    if (one_in(r, 2)) head.name = (Bytef *)(one_in(r, 3) ? "" : "a name");
    if (one_in(r, 2)) head.comment = (Bytef *)"what is said about it";
    libs[STOCK].deflateSetHeader(&z, &head);
  }
  if (m->wrap < 2 && one_in(r, 6)) {
    m->dict = make_data(r, 1 + below(r, one_in(r, 3) ? 40000 : 300));
    /* Something to refer to. */
    if (m->plain.len) {
      size_t n = m->plain.len < m->dict.len ? m->plain.len : m->dict.len;
      memcpy(m->plain.at, m->dict.at + (m->dict.len - n), n);
    }
    libs[STOCK].deflateSetDictionary(&z, m->dict.at, (uInt)m->dict.len);
  }
  size_t room = m->plain.len + m->plain.len / 8 + 70000;
  m->stream.at = hold(room + 64);
  z.next_in = m->plain.at;
  z.next_out = m->stream.at, z.avail_out = (uInt)room;
  const unsigned char *end = m->plain.at + m->plain.len;
  for (int n = one_in(r, 2) ? between(r, 1, 5) : 0; n; n--) {
    static const int flushes[] = {Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK};
    z.avail_in = below(r, (uint32_t)(end - z.next_in + 1));
    libs[STOCK].deflate(&z, flushes[below(r, 4)]);
  }
  z.avail_in = (uInt)(end - z.next_in);
  if (libs[STOCK].deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  m->stream.len = z.total_out;
  libs[STOCK].deflateEnd(&z);
}

void mutate(struct rng *r, struct made *m) {
  struct bytes *s = &m->stream;
  switch (below(r, 8)) {
    case 0:
      s->len = below(r, (uint32_t)s->len + 1);
      break;
    case 1:
      if (s->len > 8) s->len -= below(r, 9);
      break;
    case 2:
    case 3:
      for (int n = between(r, 1, 3); n && s->len; n--) {
        size_t at = one_in(r, 3) ? below(r, s->len < 40 ? (uint32_t)s->len : 40) : below(r, (uint32_t)s->len);
        if (one_in(r, 2)) s->at[at] ^= (unsigned char)(1 << below(r, 8));
        else s->at[at] = (unsigned char)draw(r);
      }
      break;
    case 4: {
      /* Something behind it: noise, or the stream again. */
      size_t more = one_in(r, 2) ? 1 + below(r, 40) : s->len;
      unsigned char *at = hold(s->len + more);
      memcpy(at, s->at, s->len);
      if (more == s->len) memcpy(at + s->len, s->at, more);
      else fill(r, at + s->len, more);
      s->at = at, s->len += more;
      break;
    }
    default:
      break;
  }
}
