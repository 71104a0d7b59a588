/* Sequences on deflate streams.

   What the two libraries write may differ, so it is decoded by the reference, step by step: it must
   be a prefix of the input, and all of the input after every completed flush. With room enough for
   all output, the two are in the same situation and their results are compared; with little room
   they are not, and each alone has to keep what zlib.h promises. */
#include <string.h>

#include "differential.h"

struct side {
  const struct lib *lib;
  z_stream z;
  /* The reference, decoding what this side writes. */
  z_stream follower;
  int following, follower_ended;
  /* Of the input since the reset: what deflate took (total_in of the reference counts dictionaries
     too, which zlib.h does not say), and what the follower has given. */
  size_t taken, decoded;
  unsigned char *out;
  size_t out_len, out_cap;
  /* Where in `out` and in the input the last full flush was; 0: nowhere. */
  size_t restart, restart_input;
  gz_header head;
  unsigned char extra[256], name[256], comment[256];
};

struct pair {
  struct side side[2];
  int open, level, strategy, wrap, bits, mem;
  /* Both took the same input and have nothing left to write. */
  int aligned;
  /* This flush has to be repeated until it is complete. */
  int must_flush;
  /* Z_FINISH was given, and is complete. */
  int finishing, ended;
  /* A copy was made, and no call of deflate since: for that, what was held may have been compressed, and
     waits. */
  int copied;
  /* Bits were primed, and nothing but Z_NO_FLUSH came since: when they leave is for deflate to decide,
     so whether there is progress may differ. */
  int primed;
  /* No call of deflate since the reset; just after a complete flush to a block's end. */
  int fresh, at_boundary;
  /* Where the input begins in the data, and how much of it was given since the reset. */
  size_t start, fed;
  /* The dictionary before everything. */
  unsigned char *dict;
  size_t dict_len;
  /* Dictionaries and input as they went into the window; since a full flush: its last part. */
  unsigned char *history;
  size_t history_len, history_cap, since_full;
  size_t history_fed;
  gz_header head;
  int has_head;
};

enum { PAIRS = 3 };

static struct bytes data;
static struct pair pairs[PAIRS];
static struct allocator counts[2];
static uInt follower_piece;
static int counted;

static void history_add(struct pair *p, const unsigned char *at, size_t len) {
  if (p->history_len + len > p->history_cap) {
    unsigned char *more = hold(p->history_cap = (p->history_len + len) * 2);
    if (p->history_len) memcpy(more, p->history, p->history_len);
    p->history = more;
  }
  if (len) memcpy(p->history + p->history_len, at, len);
  p->history_len += len;
  p->since_full += len;
}

static void follow_start(struct pair *p, struct side *s) {
  if (s->following) libs[STOCK].inflateEnd(&s->follower);
  memset(&s->follower, 0, sizeof s->follower);
  /* The window that was asked for must be enough to decode: 8 stands for 9. */
  int bits = p->bits < 9 ? 9 : p->bits;
  bits = p->wrap == 0 ? -bits : p->wrap == 1 ? bits : bits + 16;
  if (libs[STOCK].inflateInit2_(&s->follower, bits, ZLIB_VERSION, sizeof(z_stream)) != Z_OK)
    differ("follower", "inflateInit2 %d", bits);
  s->following = 1, s->follower_ended = 0, s->decoded = 0, s->out_len = 0, s->restart = 0;
  if (p->wrap == 0 && p->dict_len)
    libs[STOCK].inflateSetDictionary(&s->follower, p->dict, (uInt)p->dict_len);
  if (p->has_head) {
    memset(&s->head, 0, sizeof s->head);
    s->head.extra = s->extra, s->head.extra_max = sizeof s->extra;
    s->head.name = s->name, s->head.name_max = sizeof s->name;
    s->head.comment = s->comment, s->head.comm_max = sizeof s->comment;
    libs[STOCK].inflateGetHeader(&s->follower, &s->head);
  }
}

/* What the two sides share after (re)starting a stream. */
static void restart(struct pair *p) {
  p->aligned = 1, p->must_flush = 0, p->finishing = 0, p->ended = 0;
  p->fresh = 1, p->copied = p->primed = p->at_boundary = 0, p->fed = 0, p->dict_len = 0;
  p->history_len = 0, p->since_full = 0, p->history_fed = 0, p->has_head = 0;
  for (int i = 0; i < 2; i++) {
    z_stream *z = &p->side[i].z;
    p->side[i].taken = 0;
    if (z->total_in || z->total_out || z->msg || z->data_type != Z_UNKNOWN)
      differ("deflate: fields after a reset", "%s: total_in %lu total_out %lu msg %s data_type %d",
             side_names[i], z->total_in, z->total_out, z->msg ? z->msg : "-", z->data_type);
    follow_start(p, &p->side[i]);
  }
  if (p->side[0].z.adler != p->side[1].z.adler)
    differ("deflate: adler after a reset", "%lx %lx", p->side[0].z.adler, p->side[1].z.adler);
}

/* Decodes what a side has just written. */
static void follow(struct pair *p, int which, const unsigned char *at, size_t len) {
  struct side *s = &p->side[which];
  static unsigned char piece[1 << 16];
  z_stream *f = &s->follower;
  f->next_in = (Bytef *)at, f->avail_in = (uInt)len;
  if (s->follower_ended) {
    if (len) differ("deflate: output behind the end", "%s: %zu bytes", side_names[which], len);
    return;
  }
  do {
    f->next_out = piece, f->avail_out = follower_piece;
    int rc = libs[STOCK].inflate(f, Z_SYNC_FLUSH);
    size_t n = follower_piece - f->avail_out;
    if (s->decoded + n > s->taken || memcmp(piece, data.at + p->start + s->decoded, n))
      differ("deflate: decodes to something else", "%s: at %zu of %zu, %zu bytes", side_names[which],
             s->decoded, s->taken, n);
    s->decoded += n;
    if (rc == Z_NEED_DICT) {
      rc = libs[STOCK].inflateSetDictionary(f, p->dict, (uInt)p->dict_len);
      if (rc != Z_OK) differ("deflate: identifier of the dictionary", "%s", side_names[which]);
      continue;
    }
    if (rc == Z_STREAM_END) {
      s->follower_ended = 1;
      if (f->avail_in)
        differ("deflate: output behind the end", "%s: %u bytes", side_names[which], f->avail_in);
      return;
    }
    if (rc != Z_OK && rc != Z_BUF_ERROR)
      differ("deflate: does not decode", "%s: %d %s at %zu", side_names[which], rc,
             f->msg ? f->msg : "-", s->decoded);
  } while (f->avail_in || !f->avail_out);
}

/* After a full flush, decoding can begin there. */
static void check_restart(struct pair *p, int which) {
  struct side *s = &p->side[which];
  if (!s->restart) return;
  size_t wanted = p->fed - s->restart_input;
  unsigned char *out = hold(wanted + 1);
  z_stream z = {0};
  z.next_in = s->out + s->restart, z.avail_in = (uInt)(s->out_len - s->restart);
  z.next_out = out, z.avail_out = (uInt)wanted + 1;
  libs[STOCK].inflateInit2_(&z, -15, ZLIB_VERSION, sizeof z);
  int rc = libs[STOCK].inflate(&z, Z_FINISH);
  libs[STOCK].inflateEnd(&z);
  if (rc != Z_STREAM_END || z.total_out != wanted ||
      memcmp(out, data.at + p->start + s->restart_input, wanted))
    differ("deflate: a full flush is no place to begin", "%s: %d, %lu of %zu", side_names[which],
           rc, z.total_out, wanted);
  tally("deflate: restarts");
}

static void check_head(struct pair *p, int which) {
  struct side *s = &p->side[which];
  const gz_header *want = &p->head, *got = &s->head;
  if (!p->has_head) return;
  int right = got->done == 1 && !got->text == !want->text && got->time == want->time &&
              got->os == (want->os & 255) && !got->hcrc == !want->hcrc;
  if (want->extra) {
    uInt n = want->extra_len < sizeof s->extra ? want->extra_len : sizeof s->extra;
    right = right && got->extra_len == want->extra_len && !memcmp(s->extra, want->extra, n);
  } else {
    right = right && !got->extra;
  }
  right = right && (want->name ? got->name && !strncmp((char *)s->name, (char *)want->name, 255)
                               : !got->name);
  right = right && (want->comment ? got->comment && !strncmp((char *)s->comment, (char *)want->comment, 255)
                                  : !got->comment);
  if (!right) differ("deflate: gzip header", "%s: not as set", side_names[which]);
  tally("deflate: headers");
}

static const char *const FLUSHES[] = {"NO", "PARTIAL", "SYNC", "FULL", "FINISH", "BLOCK", "TREES"};

/* Calls `deflate` or `deflateParams` (with flush -1) with this much room. */
static int call(struct pair *p, int which, size_t target, int flush, size_t room) {
  struct side *s = &p->side[which];
  z_stream *z = &s->z;
  size_t given = target - s->taken, before = z->total_in, out_before = z->total_out;
  z->next_in = (Bytef *)guard_input(data.at + p->start + s->taken, given);
  z->avail_in = (uInt)given;
  unsigned char *out = guard_output(room);
  const unsigned char *in = z->next_in;
  z->next_out = out, z->avail_out = (uInt)room;
  int rc = flush < 0 ? s->lib->deflateParams(z, p->level, p->strategy) : s->lib->deflate(z, flush);
  size_t took = given - z->avail_in, wrote = room - z->avail_out;
  if (z->avail_in > given || z->avail_out > room || z->next_in != in + took || z->next_out != out + wrote ||
      z->total_in != before + took || z->total_out != out_before + wrote)
    differ("deflate: counters", "%s: rc %d took %zu of %zu wrote %zu of %zu total_in %lu total_out %lu",
           side_names[which], rc, took, given, wrote, room, z->total_in, z->total_out);
  if (now.verbose)
    note("%s: %s %d (room %zu): %d, in %zu of %zu, out %zu", side_names[which],
         flush < 0 ? "params" : FLUSHES[flush], flush, room, rc, took, given, wrote);
  if (s->out_len + wrote > s->out_cap) {
    unsigned char *more = hold(s->out_cap = (s->out_len + wrote) * 2 + 100);
    if (s->out_len) memcpy(more, s->out, s->out_len);
    s->out = more;
  }
  if (wrote) memcpy(s->out + s->out_len, out, wrote);
  s->out_len += wrote;
  s->taken += took;
  follow(p, which, out, wrote);
  if (p->wrap && s->taken) {
    const unsigned char *all = data.at + p->start;
    uLong sum = p->wrap == 1 ? libs[STOCK].adler32_z(1, all, s->taken)
                             : libs[STOCK].crc32_z(0, all, s->taken);
    if (z->adler != sum) differ("deflate: adler", "%s: %lx, not %lx", side_names[which], z->adler, sum);
  }
  if (flush < 0) return rc;
  int full = z->avail_out == 0;
  if (rc == Z_OK && !full && z->avail_in)
    differ("deflate: input left and room left", "%s: %u %u", side_names[which], z->avail_in, z->avail_out);
  if (rc == Z_BUF_ERROR && (took || wrote))
    differ("deflate: Z_BUF_ERROR with progress", "%s: %zu %zu", side_names[which], took, wrote);
  if (rc != Z_OK && rc != Z_BUF_ERROR && rc != (flush == Z_FINISH ? Z_STREAM_END : Z_OK))
    differ("deflate: return code", "%s: %s gives %d", side_names[which], FLUSHES[flush], rc);
  if (flush == Z_FINISH && !full && rc != Z_STREAM_END)
    differ("deflate: Z_FINISH with room does not end", "%s: %d", side_names[which], rc);
  if (rc == Z_STREAM_END) {
    if (!s->follower_ended || s->decoded != target)
      differ("deflate: end that is none", "%s: decoded %zu of %zu", side_names[which], s->decoded, target);
    return rc;
  }
  if (!full && flush >= Z_PARTIAL_FLUSH && flush <= Z_FULL_FLUSH && s->decoded != target)
    differ("deflate: a flush holds data back", "%s: %s gave %zu of %zu", side_names[which],
           FLUSHES[flush], s->decoded, target);
  if (!full && rc == Z_OK && (flush == Z_SYNC_FLUSH || flush == Z_FULL_FLUSH)) {
    if (s->out_len < 4 || memcmp(s->out + s->out_len - 4, "\0\0\xff\xff", 4))
      differ("deflate: no marker after a flush", "%s", side_names[which]);
    if (flush == Z_FULL_FLUSH) s->restart = s->out_len, s->restart_input = target;
  }
  return rc;
}

static void after(struct pair *p, int flush, size_t target) {
  p->copied = 0;
  history_add(p, data.at + p->start + p->history_fed, target - p->history_fed);
  p->history_fed = p->fed = target;
  p->fresh = 0;
  p->at_boundary = p->aligned && flush >= Z_PARTIAL_FLUSH && flush <= Z_FULL_FLUSH;
  if (flush == Z_FULL_FLUSH) p->since_full = 0;
  if (flush == Z_FINISH) p->finishing = 1;
}

static void end_reached(struct pair *p) {
  p->ended = 1;
  for (int i = 0; i < 2; i++) {
    check_restart(p, i);
    check_head(p, i);
  }
  tally("deflate: ends");
}

/* Compares the results of a call that both made in the same situation. */
static void same(struct pair *p, const char *what, int a, int b) {
  const z_stream *x = &p->side[0].z, *y = &p->side[1].z;
  if (a != b) differ(what, "%d %d", a, b);
  /* Other functions than deflate leave whatever message there was. */
  if (a < 0 && !strncmp(what, "deflate: rc", 11) && (!x->msg != !y->msg || (x->msg && strcmp(x->msg, y->msg))))
    differ("deflate: msg", "%s: rc %d, %s and %s", what, a, x->msg ? x->msg : "NULL",
           y->msg ? y->msg : "NULL");
  if (p->side[0].taken != p->side[1].taken)
    differ(what, "taken %zu %zu", p->side[0].taken, p->side[1].taken);
  if (x->adler != y->adler) differ(what, "adler %lx %lx", x->adler, y->adler);
}

static size_t enough(const struct pair *p, size_t target, struct rng *r) {
  /* Who is not aligned may have taken all and written nothing. */
  size_t left = p->aligned ? target - p->side[0].taken : target;
  /* What is pending is in the worst case a window's content and a header; of ours, 512 KB that wait. */
  size_t room = left + left / 4 + 150000 + 600000 + (p->has_head ? 150000 + p->head.extra_len : 0);
  return one_in(r, 3) ? room * 2 : room;
}

/* With room for all. */
static void ample(struct pair *p, int flush, size_t target, struct rng *r) {
  size_t room = enough(p, target, r);
  int rc[2];
  for (int i = 0; i < 2; i++) {
    rc[i] = call(p, i, target, flush, room);
    if (!p->side[i].z.avail_out) differ("deflate: too much output", "%s", side_names[i]);
  }
  if (flush) p->primed = 0;
  if (p->aligned && !p->primed && !p->copied) same(p, "deflate: rc with room for all", rc[0], rc[1]);
  p->aligned = 1, p->must_flush = 0;
  after(p, flush, target);
  if (flush == Z_FINISH) end_reached(p);
}

/* With room for little: each side as far as it comes. */
static void tight(struct pair *p, int flush, size_t target, size_t room) {
  int rc[2], whole = 1;
  for (int i = 0; i < 2; i++) {
    rc[i] = call(p, i, target, flush, room);
    if (!room && rc[i] != Z_BUF_ERROR)
      differ("deflate: rc without room", "%s: %d", side_names[i], rc[i]);
    whole = whole && (rc[i] == Z_STREAM_END || p->side[i].z.avail_out);
  }
  p->aligned = whole;
  p->must_flush = !whole && flush ? flush : 0;
  size_t least = p->side[0].taken < p->side[1].taken ? p->side[0].taken : p->side[1].taken;
  after(p, flush, least > p->history_fed ? least : p->history_fed);
  p->fed = target;
  if (rc[0] == Z_STREAM_END && rc[1] == Z_STREAM_END) end_reached(p);
}

/* Pieces of room until the flush is complete on both. */
static void drain(struct pair *p, int flush, size_t target, struct rng *r) {
  size_t least = enough(p, target, r) / 600;
  for (int i = 0; i < 2; i++) {
    int rc;
    do {
      size_t room = least + (flush == Z_SYNC_FLUSH || flush == Z_FULL_FLUSH ? 7 : 1) + below(r, 60);
      rc = call(p, i, target, flush, room);
    } while (rc != Z_STREAM_END && !p->side[i].z.avail_out);
    if (p->side[i].taken != target) differ("deflate: input left", "%s", side_names[i]);
  }
  p->aligned = 1, p->must_flush = 0;
  after(p, flush, target);
  if (flush == Z_FINISH) end_reached(p);
}

static void set_dictionary(struct pair *p, struct rng *r) {
  /* zlib.h: at the start, or for raw streams at a block's end; a wrapped stream refuses later. */
  if (!p->fresh && p->wrap == 0 && !p->at_boundary) return;
  if (!p->aligned || p->finishing) return;
  struct bytes d = make_data(r, one_in(r, 10) ? 0 : below(r, one_in(r, 4) ? 70000 : 400));
  if (d.len && one_in(r, 2)) {
    size_t n = d.len < data.len ? d.len : data.len;
    memcpy(d.at + d.len - n, data.at, n);
  }
  int rc[2], none = one_in(r, 40);
  for (int i = 0; i < 2; i++)
    rc[i] = p->side[i].lib->deflateSetDictionary(&p->side[i].z, none ? NULL : d.at, (uInt)d.len);
  note("deflateSetDictionary of %zu: %d %d", d.len, rc[0], rc[1]);
  same(p, "deflateSetDictionary", rc[0], rc[1]);
  if (rc[0] != Z_OK) return;
  tally("deflate: dictionaries");
  if (p->side[0].z.total_in != p->side[1].z.total_in)
    remark("deflateSetDictionary: total_in", "%lu %lu", p->side[0].z.total_in, p->side[1].z.total_in);
  history_add(p, d.at, d.len);
  if (p->fresh) {
    unsigned char *whole = hold(p->dict_len + d.len + 1);
    if (p->dict_len) memcpy(whole, p->dict, p->dict_len);
    memcpy(whole + p->dict_len, d.at, d.len);
    p->dict = whole, p->dict_len += d.len;
  }
  for (int i = 0; i < 2 && p->wrap == 0; i++) {
    p->side[i].restart = 0;
    libs[STOCK].inflateSetDictionary(&p->side[i].follower, d.at, (uInt)d.len);
  }
}

static void get_dictionary(struct pair *p, struct rng *r) {
  if (!p->aligned || p->finishing) return;
  static unsigned char got[1 << 16];
  int with_bytes = !one_in(r, 8);
  for (int i = 0; i < 2; i++) {
    uInt len = 77;
    int rc = p->side[i].lib->deflateGetDictionary(&p->side[i].z, with_bytes ? got : NULL, &len);
    /* zlib.h: the sliding dictionary, of which up to 258 bytes may be missing (in the reference
       and in zlib-rs up to 262). A full flush may forget what was before. */
    size_t missing = 262;
    size_t window = (size_t)1 << (p->bits < 9 ? 9 : p->bits);
    size_t least = p->since_full < window ? p->since_full : window;
    if (rc != Z_OK || len > window || len > p->history_len || len + missing < least ||
        (with_bytes && memcmp(got, p->history + p->history_len - len, len)))
      differ("deflateGetDictionary", "%s: rc %d, length %u of %zu (window %zu, since full %zu)",
             side_names[i], rc, len, p->history_len, window, p->since_full);
  }
  tally("deflate: dictionaries read");
}

static void set_params(struct pair *p, struct rng *r) {
  if (!p->aligned || p->finishing || p->must_flush) return;
  int level = p->level, strategy = p->strategy, bad = one_in(r, 20);
  p->level = bad ? between(r, 10, 12) : make_level(r, data.len);
  if (one_in(r, 2)) p->strategy = between(r, 0, bad ? 6 : 4);
  size_t target = p->fed + (one_in(r, 2) ? 0 : below(r, (uint32_t)(data.len - p->start - p->fed) + 1));
  size_t room = enough(p, target, r);
  int rc[2];
  for (int i = 0; i < 2; i++) rc[i] = call(p, i, target, -1, room);
  note("deflateParams %d %d", p->level, p->strategy);
  same(p, "deflateParams", rc[0], rc[1]);
  if (rc[0] != Z_OK) p->level = level, p->strategy = strategy;
  else tally("deflate: params");
  /* Given input is taken if the approach changes, else left. */
  target = p->side[0].taken;
  history_add(p, data.at + p->start + p->history_fed, target - p->history_fed);
  p->history_fed = p->fed = target;
  p->at_boundary = 0;
}

static void prime(struct pair *p, struct rng *r) {
  int rc[2];
  if (one_in(r, 4)) {
    int bits = one_in(r, 2) ? between(r, 17, 40) : between(r, -9, -1);
    for (int i = 0; i < 2; i++) rc[i] = p->side[i].lib->deflatePrime(&p->side[i].z, bits, 0);
    same(p, "deflatePrime, wrong number of bits", rc[0], rc[1]);
    return;
  }
  if (p->wrap || !p->fresh) return;
  /* Empty blocks of fixed codes: zlib.h asks for bits before the first call of a raw stream. */
  uint32_t value = 0;
  int bits = 10 * between(r, 1, 3), at = 0;
  for (int i = 0; i < bits; i += 10) value |= (uint32_t)2 << i;
  while (at < bits) {
    int n = between(r, 0, bits - at < 16 ? bits - at : 16);
    for (int i = 0; i < 2; i++) {
      unsigned pending = 99;
      int left = 99;
      rc[i] = p->side[i].lib->deflatePrime(&p->side[i].z, n, (int)(value >> at & ((1u << n) - 1)));
      int rc2 = p->side[i].lib->deflatePending(&p->side[i].z, &pending, &left);
      if (rc2 != Z_OK || pending * 8 + (unsigned)left < (unsigned)(at + n) || left > 16)
        differ("deflatePending after deflatePrime", "%s: rc %d, %u bytes %d bits of %d",
               side_names[i], rc2, pending, left, at + n);
    }
    same(p, "deflatePrime", rc[0], rc[1]);
    at += n;
  }
  note("prime %d bits", bits);
  p->primed = 1;
  tally("deflate: primes");
}

static void set_header(struct pair *p, struct rng *r) {
  if (!p->fresh || (p->wrap == 2 && p->has_head)) return;
  gz_header *h = &p->head;
  memset(h, 0, sizeof *h);
  h->text = between(r, 0, 2), h->time = (uLong)draw(r) & 0xffffffff, h->os = between(r, 0, 255);
  h->hcrc = between(r, 0, 2), h->xflags = between(r, 0, 255);
  if (one_in(r, 2)) {
    struct bytes extra = make_data(r, below(r, one_in(r, 4) ? 65536 : 100));
    h->extra = extra.at, h->extra_len = (uInt)extra.len;
  }
  unsigned char **texts[2] = {&h->name, &h->comment};
  for (int i = 0; i < 2; i++) {
    if (one_in(r, 2)) continue;
    size_t len = below(r, one_in(r, 8) ? 70000 : 200);
    unsigned char *at = *texts[i] = hold(len + 1);
    for (size_t n = 0; n < len; n++) at[n] = (unsigned char)between(r, 1, 255);
    at[len] = 0;
  }
  int none = one_in(r, 10), rc[2];
  gz_header *kept = memcpy(hold(sizeof *h), h, sizeof *h); /* copies refer to it too */
  for (int i = 0; i < 2; i++)
    rc[i] = p->side[i].lib->deflateSetHeader(&p->side[i].z, none ? NULL : kept);
  same(p, "deflateSetHeader", rc[0], rc[1]);
  if (rc[0] != Z_OK || none) {
    h->extra_len = 0;
    return;
  }
  p->has_head = 1;
  for (int i = 0; i < 2; i++) follow_start(p, &p->side[i]);
}

static void pending(struct pair *p) {
  for (int i = 0; i < 2; i++) {
    unsigned bytes = 99;
    int bits = 99;
    int rc = p->side[i].lib->deflatePending(&p->side[i].z, &bytes, &bits);
    if (rc != Z_OK || bits < 0 || bits > 16)
      differ("deflatePending", "%s: %d, %u bytes, %d bits", side_names[i], rc, bytes, bits);
    /* zlib.h says seven; the reference itself holds more in the middle of a block. */
    if (bits > 7 && i == OURS) remark("deflatePending: more than 7 bits", "%d", bits);
    if (p->aligned && bytes && !p->fresh && !p->primed && !p->copied)
      differ("deflatePending: bytes left though there was room", "%s: %u", side_names[i], bytes);
    if (p->aligned && p->at_boundary && bits && p->side[i].out_len >= 4 &&
        !memcmp(p->side[i].out + p->side[i].out_len - 4, "\0\0\xff\xff", 4))
      remark("deflatePending: bits left after a flush", "%s: %d", side_names[i], bits);
    rc = p->side[i].lib->deflatePending(&p->side[i].z, NULL, NULL);
    if (rc != Z_OK) differ("deflatePending", "%s: %d", side_names[i], rc);
  }
}

/* Calls that have to be refused and change nothing. */
static void refused(struct pair *p, struct rng *r) {
  int rc[2], how = between(r, 0, 6), flush = one_in(r, 2) ? between(r, -3, -1) : between(r, 6, 9);
  if (!p->aligned) return;
  for (int i = 0; i < 2; i++) {
    const struct lib *l = p->side[i].lib;
    z_stream *z = &p->side[i].z;
    z->next_in = (Bytef *)guard_input(data.at, 0), z->avail_in = 0;
    z->next_out = guard_output(100), z->avail_out = 100;
    switch (how) {
      case 0: rc[i] = l->deflate(NULL, Z_NO_FLUSH); break;
      case 1: rc[i] = l->deflate(z, flush); break;
      case 2: z->next_out = NULL; rc[i] = l->deflate(z, Z_NO_FLUSH); break;
      case 3: z->next_in = NULL; z->avail_in = 1; rc[i] = l->deflate(z, Z_NO_FLUSH); break;
      case 4: rc[i] = l->deflateParams(z, 77, 0); break;
      case 5: rc[i] = l->deflateCopy(NULL, z) + 10 * l->deflateReset(NULL) + 100 * l->deflateEnd(NULL); break;
      default: rc[i] = l->deflateTune(NULL, 1, 1, 1, 1) + 10 * l->deflatePrime(NULL, 0, 0) +
                       100 * l->deflateSetHeader(NULL, NULL) + 1000 * l->deflatePending(NULL, NULL, NULL); break;
    }
    z->avail_in = 0;
  }
  note("refused %d (flush %d): %d %d", how, flush, rc[0], rc[1]);
  if (p->ended && how >= 1 && how <= 3 && rc[0] != rc[1])
    differ("deflate: refused after the end", "how %d flush %d: %d %d", how, flush, rc[0], rc[1]);
  same(p, "deflate: refused", rc[0], rc[1]);
}

/* After Z_STREAM_END. */
static void beyond(struct pair *p, struct rng *r) {
  int rc[2], flush = between(r, 0, 5);
  uInt room = one_in(r, 4) ? 0 : 50;
  size_t more = one_in(r, 3) && p->start + p->fed < data.len;
  for (int i = 0; i < 2; i++) {
    z_stream *z = &p->side[i].z;
    z->next_in = (Bytef *)guard_input(data.at + p->start + p->fed, more), z->avail_in = (uInt)more;
    z->next_out = guard_output(room), z->avail_out = room;
    rc[i] = p->side[i].lib->deflate(z, flush);
    if (z->avail_out != room || z->avail_in != more)
      differ("deflate: progress after the end", "%s", side_names[i]);
    z->avail_in = 0;
  }
  note("beyond the end: flush %d, %zu more: %d %d", flush, more, rc[0], rc[1]);
  same(p, "deflate: rc after the end", rc[0], rc[1]);
}

static int end_pair(struct pair *p, int compare) {
  int rc[2];
  for (int i = 0; i < 2; i++) {
    struct side *s = &p->side[i];
    rc[i] = s->lib->deflateEnd(&s->z);
    if (rc[i] != Z_OK && rc[i] != Z_DATA_ERROR) differ("deflateEnd", "%s: %d", side_names[i], rc[i]);
    if (s->following) libs[STOCK].inflateEnd(&s->follower), s->following = 0;
    int again = s->lib->deflateEnd(&s->z);
    if (again != Z_STREAM_ERROR || s->z.state) differ("deflateEnd, again", "%s: %d", side_names[i], again);
  }
  p->open = 0;
  if (compare && rc[0] != rc[1]) differ("deflateEnd", "%d %d", rc[0], rc[1]);
  return rc[0];
}

static void copy(struct pair *p, struct rng *r) {
  int free_one = -1, rc[2];
  for (int i = 0; i < PAIRS; i++)
    if (!pairs[i].open) free_one = i;
  if (free_one < 0) return;
  struct pair *q = &pairs[free_one];
  p->copied = 1;
  *q = *p;
  q->history = NULL, q->history_len = q->history_cap = 0;
  size_t since = p->since_full;
  history_add(q, p->history, p->history_len);
  q->since_full = since;
  for (int i = 0; i < 2; i++) {
    struct side *to = &q->side[i], *from = &p->side[i];
    memset(&to->z, (int)below(r, 256), sizeof to->z);
    rc[i] = from->lib->deflateCopy(&to->z, &from->z);
    if (rc[i] != Z_OK) differ("deflateCopy", "%s: %d", side_names[i], rc[i]);
    if (libs[STOCK].inflateCopy(&to->follower, &from->follower) != Z_OK) differ("follower", "copy");
    if (p->has_head && !from->head.done) {
      /* The copy of the follower would write into the original's header. */
      libs[STOCK].inflateEnd(&to->follower);
      to->following = 0;
    }
    to->out = hold(to->out_cap = from->out_len + 1);
    if (from->out_len) memcpy(to->out, from->out, from->out_len);
    if (!to->following) {
      size_t len = to->out_len, decoded = from->decoded;
      follow_start(q, to);
      follow(q, i, to->out, len);
      to->out_len = len;
      if (to->decoded != decoded) differ("follower", "copy");
    }
  }
  q->open = 1;
  note("copy");
  tally("deflate: copies");
}

static void reset(struct pair *p, struct rng *r) {
  int rc[2];
  for (int i = 0; i < 2; i++) {
    const struct lib *l = p->side[i].lib;
    /* Keeping the window, the next stream would refer to the last: only fields are compared. */
    if (now.op & 1 && l->deflateResetKeep(&p->side[i].z) != Z_OK)
      differ("deflateResetKeep", "%s", side_names[i]);
    rc[i] = l->deflateReset(&p->side[i].z);
  }
  if (rc[0] != Z_OK || rc[1] != Z_OK) differ("deflateReset", "%d %d", rc[0], rc[1]);
  /* A header that was set stays set in the reference, which zlib.h does not promise. */
  if (p->wrap == 2)
    for (int i = 0; i < 2; i++) p->side[i].lib->deflateSetHeader(&p->side[i].z, NULL);
  p->start = below(r, (uint32_t)data.len + 1);
  note("reset");
  restart(p);
  tally("deflate: resets");
}

static int start(struct pair *p, struct rng *r) {
  memset(p, 0, sizeof *p);
  p->level = make_level(r, data.len), p->strategy = one_in(r, 2) ? 0 : between(r, 0, 4);
  p->wrap = between(r, 0, 2), p->bits = one_in(r, 2) ? 15 : between(r, 8, 15);
  p->mem = one_in(r, 2) ? 8 : between(r, 1, 9);
  if (p->wrap && one_in(r, 4)) p->bits = 8;
  int method = Z_DEFLATED, simple = one_in(r, 5), size = sizeof(z_stream), rc[2];
  int bits = p->wrap == 0 ? -p->bits : p->wrap == 1 ? p->bits : p->bits + 16;
  const char *version = ZLIB_VERSION;
  if (one_in(r, 12)) {
    switch (below(r, 8)) {
      case 0: p->level = one_in(r, 2) ? between(r, -5, -2) : between(r, 10, 20); break;
      case 1: p->strategy = one_in(r, 2) ? -1 : between(r, 5, 9); break;
      case 2: bits = between(r, -20, 40); break;
      case 3: p->mem = one_in(r, 2) ? between(r, -1, 0) : between(r, 10, 12); break;
      case 4: method = between(r, 0, 9); break;
      case 5: version = one_in(r, 2) ? NULL : one_in(r, 2) ? "0.9" : "1.1.4"; break;
      case 6: size -= 8; break;
      default: break;
    }
    if (bits >= 8 && bits <= 15) p->wrap = 1, p->bits = bits;
    else if (bits < 0) p->wrap = 0, p->bits = -bits;
    else if (bits > 15) p->wrap = 2, p->bits = bits - 16;
  }
  for (int i = 0; i < 2; i++) {
    z_stream *z = &p->side[i].z;
    p->side[i].lib = &libs[i];
    memset(z, 0x5a, sizeof *z);
    z->zalloc = counted ? counted_alloc : NULL, z->zfree = counted ? counted_free : NULL;
    z->opaque = counted ? &counts[i] : NULL;
    rc[i] = simple ? libs[i].deflateInit_(z, p->level, version, size)
                   : libs[i].deflateInit2_(z, p->level, method, bits, p->mem, p->strategy, version, size);
  }
  if (simple) p->wrap = 1, p->bits = 15, p->mem = 8, p->strategy = 0;
  note("init level %d bits %d mem %d strategy %d method %d: %d %d", p->level, bits, p->mem,
       p->strategy, method, rc[0], rc[1]);
  if (rc[0] != rc[1])
    differ("deflateInit2", "level %d bits %d mem %d strategy %d: %d %d", p->level, bits, p->mem,
           p->strategy, rc[0], rc[1]);
  if (rc[0] != Z_OK) {
    tally("deflate: refused parameters");
    return 0;
  }
  p->open = 1;
  restart(p);
  return 1;
}

static void step(struct pair *p, struct rng *r) {
  static const unsigned char often[] = {0, 0, 0, 0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 5};
  int flush = often[below(r, LENGTH(often))];
  size_t left = data.len - p->start - p->fed, more = left;
  if (flush != Z_FINISH || one_in(r, 2))
    more = one_in(r, 4) ? 0 : below(r, (uint32_t)(one_in(r, 3) ? left : left / 3) + 1);
  if (p->must_flush) flush = p->must_flush, more = 0;
  if (p->finishing) flush = Z_FINISH, more = 0;
  size_t target = p->fed + more;
  switch (below(r, 5)) {
    case 0: tight(p, flush, target, below(r, one_in(r, 3) ? 400 : 20)); break;
    case 1: drain(p, flush, target, r); break;
    default: ample(p, flush, target, r); break;
  }
}

void deflate_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  memset(pairs, 0, sizeof pairs);
  memset(counts, 0, sizeof counts);
  data = make_data(&r, make_length(&r));
  counted = one_in(&r, 3);
  follower_piece = one_in(&r, 5) ? 1 + below(&r, 64) : 1 << 16;
  if (data.len > 20000) follower_piece = 1 << 16;
  int operations = between(&r, 1, data.len > 100000 ? 8 : one_in(&r, 4) ? OPERATIONS : 12);
  if (!start(&pairs[0], &r)) return;
  tally("sequences: deflate");
  for (int i = 0; i < operations; i++) {
    if (!operation(i, &r)) continue;
    struct pair *p = &pairs[below(&r, PAIRS)];
    while (!p->open) p = &pairs[(p - pairs + 1) % PAIRS];
    switch (below(&r, 24)) {
      case 0: set_params(p, &r); break;
      case 1:
        for (int k = 0; k < 2; k++) {
          struct rng same_draws = r;
          struct rng *q = &same_draws;
          int good = between(q, 0, 258), lazy = between(q, 0, 258), nice = between(q, 1, 258);
          if (!k) note("tune %d %d %d", good, lazy, nice);
          if (p->side[k].lib->deflateTune(&p->side[k].z, good, lazy, nice, between(q, 1, 4096)) != Z_OK)
            differ("deflateTune", "%s", side_names[k]);
        }
        break;
      case 2: pending(p); break;
      case 3: copy(p, &r); break;
      case 4: if (one_in(&r, 2)) reset(p, &r); break;
      case 5: case 6: set_dictionary(p, &r); break;
      case 7: get_dictionary(p, &r); break;
      case 8: set_header(p, &r); break;
      case 9: if (p->aligned) prime(p, &r); break;
      case 10: refused(p, &r); break;
      default:
        if (p->ended) beyond(p, &r);
        else step(p, &r);
        break;
    }
  }
  now.op = operations;
  for (struct pair *p = pairs; p < pairs + PAIRS; p++) {
    if (!p->open) continue;
    struct rng q = rng_of(now.seed, OPERATIONS);
    /* Half of the streams are brought to their end, the others left as they are. */
    if (one_in(&q, 2) && !p->ended) {
      if (p->must_flush && p->must_flush != Z_FINISH) drain(p, p->must_flush, p->fed, &q);
      ample(p, Z_FINISH, p->finishing ? p->fed : data.len - p->start, &q);
    }
    if (end_pair(p, p->aligned) == Z_DATA_ERROR) tally("deflate: cut short");
  }
  for (int i = 0; i < 2; i++)
    if (counts[i].live || counts[i].foreign)
      differ("deflate: memory not freed", "%s: %ld pieces, %d not its own", side_names[i],
             counts[i].live, counts[i].foreign);
}

/* deflateBound is enough for one call, and the reference's bound too: programs know it by heart. */
void bound_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  struct bytes plain = make_data(&r, make_length(&r));
  int level = make_level(&r, plain.len), wrap = between(&r, 0, 2), window = one_in(&r, 2) ? 15 : between(&r, 9, 15);
  int mem = one_in(&r, 2) ? 8 : between(&r, 1, 9), strategy = one_in(&r, 2) ? 0 : between(&r, 0, 4);
  int bits = wrap == 0 ? -window : wrap == 1 ? window : window + 16;
  struct bytes dict = {NULL, 0};
  if (wrap < 2 && one_in(&r, 5)) dict = make_data(&r, 1 + below(&r, 40000));
  gz_header head = {0};
  int with_head = wrap == 2 && one_in(&r, 3);
  head.hcrc = between(&r, 0, 1), head.name = (Bytef *)"name", head.extra = plain.at;
  head.extra_len = plain.len < 300 ? (uInt)plain.len : 300;
  uint32_t cut = one_in(&r, 3) ? below(&r, (uint32_t)plain.len + 1) : 0;
  size_t bounds[2] = {0, 0}, sizes[2];
  tally("sequences: bound");
  /* Ours twice: with its own bound, and with the reference's. */
  for (int turn = 0; turn < 3; turn++) {
    int which = turn > 0;
    const struct lib *l = &libs[which];
    z_stream z = {0};
    if (l->deflateInit2_(&z, level, Z_DEFLATED, bits, mem, strategy, ZLIB_VERSION, sizeof z) != Z_OK)
      differ("bound: deflateInit2", "%s", side_names[which]);
    if (with_head) l->deflateSetHeader(&z, &head);
    if (dict.len) l->deflateSetDictionary(&z, dict.at, (uInt)dict.len);
    size_t bound = l->deflateBound(&z, plain.len);
    if (turn < 2) bounds[which] = bound;
    else bound = bounds[STOCK];
    z.next_out = guard_output(bound), z.avail_out = (uInt)bound;
    unsigned char *out = z.next_out;
    z.next_in = (Bytef *)guard_input(plain.at, plain.len), z.avail_in = (uInt)plain.len;
    if (cut) {
      z.avail_in = cut;
      if (l->deflate(&z, Z_NO_FLUSH) != Z_OK) differ("bound: Z_NO_FLUSH", "%s", side_names[which]);
      z.avail_in = (uInt)plain.len - cut + z.avail_in;
    }
    int rc = l->deflate(&z, Z_FINISH);
    sizes[which] = z.total_out;
    note("bound: %s level %d bits %d mem %d strategy %d cut %u: %zu in %zu: %lu, %d", side_names[which],
         level, bits, mem, strategy, cut, plain.len, bound, z.total_out, rc);
    /* The reference itself breaks its promise for a few bytes at level 0. */
    if (rc != Z_STREAM_END && (which == STOCK || !sizes[STOCK])) {
      if (which == STOCK) sizes[STOCK] = 0;
      if (turn == 1) remark("bound: not enough, nor is the reference's", "%zu bytes", plain.len);
      l->deflateEnd(&z);
      continue;
    }
    if (rc != Z_STREAM_END)
      differ(turn == 2 ? "bound: the reference's is not enough" : "bound: not enough",
             "%s: level %d bits %d mem %d strategy %d head %d dict %zu cut %u: %zu bytes, bound %zu, rc %d",
             side_names[which], level, bits, mem, strategy, with_head, dict.len, cut, plain.len, bound, rc);
    if (l->deflateEnd(&z) != Z_OK) differ("bound: deflateEnd", "%s", side_names[which]);
    z_stream back = {0};
    unsigned char *plain_again = hold(plain.len + 1);
    libs[STOCK].inflateInit2_(&back, bits, ZLIB_VERSION, sizeof back);
    if (wrap == 0 && dict.len) libs[STOCK].inflateSetDictionary(&back, dict.at, (uInt)dict.len);
    back.next_in = out, back.avail_in = (uInt)sizes[which];
    back.next_out = plain_again, back.avail_out = (uInt)plain.len + 1;
    rc = libs[STOCK].inflate(&back, Z_FINISH);
    if (rc == Z_NEED_DICT) {
      libs[STOCK].inflateSetDictionary(&back, dict.at, (uInt)dict.len);
      rc = libs[STOCK].inflate(&back, Z_FINISH);
    }
    libs[STOCK].inflateEnd(&back);
    if (rc != Z_STREAM_END || back.total_out != plain.len || memcmp(plain_again, plain.at, plain.len))
      differ("bound: does not decode", "%s: %d", side_names[which], rc);
  }
  if (sizes[STOCK] && sizes[OURS] > sizes[STOCK] + sizes[STOCK] / 50 + 16 && strategy == 0 && !cut)
    remark("bound: more than 2 % larger", "level %d: %zu bytes to %zu instead of %zu (bits %d mem %d)", level,
           plain.len, sizes[OURS], sizes[STOCK], bits, mem);
}
