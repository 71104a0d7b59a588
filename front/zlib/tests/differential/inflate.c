/* Sequences on inflate streams: valid, cut and altered ones.

   What is decoded, the return codes, the counters at the ends of a stream, of a header and of a block
   are the same. Where zlib.h leaves a choice, the sides may go different ways: with the output full,
   how much input is taken (`remark`), and whether an error behind the last byte is seen at once. */
#include <string.h>

#include "differential.h"

struct pair {
  z_stream z[2];
  int open, bits, raw;
  /* The window may be smaller than the stream needs: how far back is too far depends on the pieces of
     output then (in the reference), so the pair is left alone after such an error. */
  int small, given_up;
  /* Bits were primed since the reset. */
  int primed;
  /* How far each side is in the source, and how far it may read. */
  size_t at[2], target;
  /* What came out (and dictionaries) since the reset; since when the window is not known. */
  unsigned char *history;
  size_t history_len, history_cap;
  /* An error that one side has seen, and the other not yet, its output being full. */
  int lag;
  /* Ended or failed. */
  int over;
  /* With Z_FINISH, once the last block is decoded, there need be no window (the reference keeps none). */
  int no_window;
  /* The last call filled the output: a match may be in the middle. */
  int full;
  gz_header head[2];
  unsigned char texts[2][3][40];
  int has_head, sync_found;
  /* The check value is not computed: after inflateValidate(0), and after inflateSync. */
  int unchecked;
};

enum { PAIRS = 3 };

static struct made made;
static struct pair pairs[PAIRS];
static struct allocator counts[2];
static int counted;

static void history_add(struct pair *p, const unsigned char *at, size_t len) {
  if (p->history_len + len > p->history_cap) {
    unsigned char *more = hold(p->history_cap = (p->history_len + len) * 2);
    if (p->history_len) memcpy(more, p->history, p->history_len);
    p->history = more;
  }
  if (len) memcpy(p->history + p->history_len, at, len);
  p->history_len += len;
}

static int same_place(const struct pair *p) { return p->at[0] == p->at[1] && !p->lag; }

/* The reference decodes bit by bit what it has; how many it holds is seen in data_type. */
static long bit_place(const struct pair *p, int i) { return (long)p->at[i] * 8 - (p->z[i].data_type & 63); }

static void same_fields(struct pair *p, const char *what, int wanted) {
  const z_stream *a = &p->z[0], *b = &p->z[1];
  if (a->total_out != b->total_out) differ(what, "total_out %lu %lu", a->total_out, b->total_out);
  /* The check of the output so far, or the wanted dictionary; nothing else is promised. */
  if (a->adler != b->adler && !p->raw && !p->unchecked && (a->total_out || wanted))
    differ(what, "adler %lx %lx", a->adler, b->adler);
  if (!a->msg != !b->msg || (a->msg && strcmp(a->msg, b->msg)))
    differ(what, "msg %s and %s", a->msg ? a->msg : "NULL", b->msg ? b->msg : "NULL");
}

static void same_header(struct pair *p, const char *when) {
  const gz_header *a = &p->head[0], *b = &p->head[1];
  if (!p->has_head || p->at[0] != p->at[1]) return;
  if (a->done != b->done) differ("inflateGetHeader: done", "%s: %d %d", when, a->done, b->done);
  if (a->done != 1) return;
  if (a->text != b->text || a->time != b->time || a->xflags != b->xflags || a->os != b->os ||
      a->hcrc != b->hcrc || !a->extra != !b->extra || !a->name != !b->name || !a->comment != !b->comment ||
      (a->extra && a->extra_len != b->extra_len) || memcmp(p->texts[0], p->texts[1], sizeof p->texts[0]))
    differ("inflateGetHeader: fields", "%s: text %d %d time %lu %lu os %d %d hcrc %d %d extra %u %u", when,
           a->text, b->text, a->time, b->time, a->os, b->os, a->hcrc, b->hcrc, a->extra_len, b->extra_len);
  tally("inflate: headers");
}

static const char *const CODES[] = {"BUF", "MEM", "DATA", "STREAM", "ERRNO", "OK", "END", "DICT"};
static const char *code(int rc) { return rc < -5 || rc > 2 ? "?" : CODES[rc + 5]; }

/* One call on one side. */
static int call(struct pair *p, int i, int flush, size_t room, unsigned char **wrote, size_t *count) {
  static unsigned char *kept[2];
  static size_t cap[2];
  z_stream *z = &p->z[i];
  size_t given = p->target - p->at[i];
  uLong in_before = z->total_in, out_before = z->total_out;
  z->next_in = (Bytef *)guard_input(made.stream.at + p->at[i], given), z->avail_in = (uInt)given;
  unsigned char *out = guard_output(room);
  const unsigned char *in = z->next_in;
  z->next_out = out, z->avail_out = (uInt)room;
  int rc = libs[i].inflate(z, flush);
  size_t took = given - z->avail_in, gave = room - z->avail_out;
  if (now.verbose)
    note("%s: inflate(%d) in %zu of %zu out %zu of %zu: %s, data_type %d", side_names[i], flush, took,
         given, gave, room, code(rc), z->data_type);
  if (z->avail_in > given || z->avail_out > room || z->next_in != in + took || z->next_out != out + gave ||
      /* The reference forgets to count a header that ends in Z_NEED_DICT. */
      (z->total_in != in_before + took && rc != Z_NEED_DICT) || z->total_out != out_before + gave)
    differ("inflate: counters", "%s: took %zu of %zu, gave %zu of %zu, total_in %lu, total_out %lu",
           side_names[i], took, given, gave, room, z->total_in, z->total_out);
  p->at[i] += took;
  /* zlib.h on Z_BUF_ERROR and Z_OK. */
  if (rc == Z_BUF_ERROR && (took || gave) && flush != Z_FINISH)
    differ("inflate: Z_BUF_ERROR with progress", "%s: took %zu gave %zu", side_names[i], took, gave);
  if (rc == Z_OK && ((!took && !gave) || flush == Z_FINISH))
    differ("inflate: Z_OK without progress or with Z_FINISH", "%s: flush %d", side_names[i], flush);
  if ((rc == Z_OK || rc == Z_BUF_ERROR) && z->avail_in && z->avail_out && !(z->data_type & 128) &&
      flush != Z_TREES)
    differ("inflate: input left and room left", "%s: %u %u flush %d", side_names[i], z->avail_in,
           z->avail_out, flush);
  if (gave > cap[i]) kept[i] = hold(gave * 2), cap[i] = 0;
  if (gave) memcpy(kept[i] = hold(gave), out, gave);
  *wrote = kept[i], *count = gave;
  return rc;
}

static int progress_or_not(int rc) { return rc == Z_BUF_ERROR ? Z_OK : rc; }

static void step(struct pair *p, struct rng *r) {
  static const unsigned char often[] = {Z_NO_FLUSH, Z_NO_FLUSH, Z_NO_FLUSH, Z_SYNC_FLUSH, Z_SYNC_FLUSH,
                                        Z_FINISH, Z_FINISH, Z_BLOCK, Z_TREES, Z_PARTIAL_FLUSH};
  int flush = often[below(r, LENGTH(often))], rc[2];
  size_t least = p->at[0] < p->at[1] ? p->at[0] : p->at[1], most = p->at[0] + p->at[1] - least;
  size_t left = made.stream.len - least, take = left;
  if (!one_in(r, 3)) take = below(r, one_in(r, 2) ? 12 : (uint32_t)left + 1);
  if (take > left) take = left;
  if (p->target < least + take) p->target = least + take;
  if (one_in(r, 2)) p->target = least + take < most ? most : least + take;
  size_t room = one_in(r, 3) ? below(r, 400) : made.plain.len + 1000 + below(r, 70000);
  if (one_in(r, 8)) room = below(r, 3);
  if (one_in(r, 6) && made.plain.len >= p->z[0].total_out) room = made.plain.len - p->z[0].total_out;
  if (p->lag) flush = Z_NO_FLUSH, room += 1;
  unsigned char *out[2];
  size_t count[2];
  for (int i = 0; i < 2; i++) rc[i] = call(p, i, flush, room, &out[i], &count[i]);
  z_stream *a = &p->z[0], *b = &p->z[1];
  for (int i = 0; i < 2; i++) {
    const char *msg = rc[i] == Z_DATA_ERROR ? p->z[i].msg : NULL;
    if (p->small && msg && !strcmp(msg, "invalid distance too far back") && count[0] != count[1]) {
      p->given_up = 1;
      remark("inflate: distance beyond a small window", "%s %s", code(rc[0]), code(rc[1]));
      return;
    }
  }
  if (count[0] != count[1])
    differ("inflate: amount of output", "%zu %zu of %zu (%s %s, flush %d, in to %zu %zu of %zu)", count[0],
           count[1], room, code(rc[0]), code(rc[1]), flush, p->at[0], p->at[1], made.stream.len);
  if (count[0] && memcmp(out[0], out[1], count[0])) differ("inflate: output", "%zu bytes", count[0]);
  history_add(p, out[0], count[0]);
  if (flush == Z_FINISH) p->no_window = 1;
  int was_full = !a->avail_out;
  p->full = was_full;
  if (progress_or_not(rc[0]) != progress_or_not(rc[1])) {
    /* With its output full, a decoder need not look further. */
    int may_lag = was_full && !p->lag && (rc[0] == Z_DATA_ERROR || rc[1] == Z_DATA_ERROR) &&
                  (progress_or_not(rc[0]) == Z_OK || progress_or_not(rc[1]) == Z_OK);
    if (!may_lag)
      differ("inflate: rc", "%s %s (flush %d, %zu of %zu out, in to %zu %zu of %zu; msg %s, %s)", code(rc[0]),
             code(rc[1]), flush, count[0], room, p->at[0], p->at[1], p->target, a->msg ? a->msg : "-",
             b->msg ? b->msg : "-");
    remark("inflate: an error behind a full output seen at once or later", "%s %s", code(rc[0]), code(rc[1]));
    p->lag = 1;
    return;
  }
  p->lag = 0;
  same_fields(p, rc[0] == Z_OK || rc[0] == Z_BUF_ERROR ? "inflate: fields" : "inflate: fields at an end or error",
              rc[0] == Z_NEED_DICT || rc[0] == Z_STREAM_END);
  switch (rc[0]) {
    case Z_STREAM_END:
    case Z_NEED_DICT:
      if (!same_place(p)) differ("inflate: place of the end", "%s: %zu %zu", code(rc[0]), p->at[0], p->at[1]);
      /* The reference leaves it alone with Z_NEED_DICT. */
      if (a->data_type != b->data_type && rc[0] == Z_STREAM_END)
        remark("inflate: data_type at the end", "%s: %d %d", code(rc[0]), a->data_type, b->data_type);
      p->over = rc[0] == Z_STREAM_END;
      tally(rc[0] == Z_STREAM_END ? "inflate: ends" : "inflate: dictionaries wanted");
      break;
    case Z_DATA_ERROR:
      /* Programs go on from there with inflateSync, or report the place. */
      if (!same_place(p)) remark("inflate: place of the error", "%zu %zu: %s", p->at[0], p->at[1], a->msg);
      p->over = 1;
      tally("inflate: errors");
      break;
    case Z_OK:
    case Z_BUF_ERROR:
      if (((a->data_type & 128) && (flush == Z_BLOCK || flush == Z_TREES) && !was_full) ||
          ((a->data_type & 256) && flush == Z_TREES && !was_full)) {
        if (!same_place(p) || a->data_type != b->data_type)
          differ("inflate: Z_BLOCK or Z_TREES stops elsewhere", "%zu %zu, data_type %d %d", p->at[0], p->at[1],
                 a->data_type, b->data_type);
        tally("inflate: stops at blocks");
      } else if (!was_full) {
        if (!same_place(p)) differ("inflate: input taken", "%zu %zu", p->at[0], p->at[1]);
        if (a->data_type != b->data_type)
          remark("inflate: data_type amid a block", "%d %d (flush %d)", a->data_type, b->data_type, flush);
      } else if (!same_place(p)) {
        remark("inflate: input taken with the output full", "%zu %zu", p->at[0], p->at[1]);
      } else if (bit_place(p, 0) != bit_place(p, 1)) {
        remark("inflate: bits taken with the output full", "%ld %ld", bit_place(p, 0), bit_place(p, 1));
      }
      break;
    default:
      tally("inflate: other codes");
      break;
  }
  same_header(p, code(rc[0]));
  if (rc[0] == Z_NEED_DICT && !one_in(r, 4)) {
    int wrong = one_in(r, 8), none = one_in(r, 30);
    const unsigned char *dict = wrong ? made.stream.at : made.dict.at;
    size_t len = wrong ? (made.stream.len < 10 ? made.stream.len : 10) : made.dict.len;
    if (!len) return;
    /* Of a null pointer the reference reads one byte, if the length is one. */
    none = none && len > 1;
    for (int i = 0; i < 2; i++) rc[i] = libs[i].inflateSetDictionary(&p->z[i], none ? NULL : dict, (uInt)len);
    note("inflateSetDictionary %zu: %s %s", len, code(rc[0]), code(rc[1]));
    if (none) {
      /* Refused or (in the reference) taken for a dictionary of nothing: over either way. */
      p->open = 2;
      return;
    }
    if (rc[0] != rc[1]) differ("inflateSetDictionary", "%s %s", code(rc[0]), code(rc[1]));
    same_fields(p, "inflateSetDictionary", 0);
    if (rc[0] == Z_OK) history_add(p, dict, len), tally("inflate: dictionaries");
  }
}

static void same_rc(const char *what, const int *rc) {
  note("%s: %d %d", what, rc[0], rc[1]);
  if (rc[0] != rc[1]) differ(what, "%d %d", rc[0], rc[1]);
}

/* To a place in the source, both. */
static void go_to(struct pair *p, size_t at) {
  p->at[0] = p->at[1] = p->target = at;
  p->lag = p->over = p->full = 0;
}

static void reset(struct pair *p, struct rng *r) {
  int rc[2], how = between(r, 0, 4), raw = p->raw, bits = p->bits;
  size_t before = p->at[0] > p->at[1] ? p->at[0] : p->at[1];
  if (how >= 3) {
    int wrap = between(r, 0, 4);
    bits = one_in(r, 6) ? between(r, -20, 60) : one_in(r, 3) ? between(r, 8, 15) : 15;
    if (one_in(r, 3)) wrap = made.wrap;
    raw = bits < 0 || wrap == 0;
    if (bits >= 8 && bits <= 15) bits = wrap == 0 ? -bits : wrap == 1 ? bits : wrap == 2 ? bits + 16 : bits + 32;
    if (one_in(r, 12)) bits = 0, raw = 0;
  }
  for (int i = 0; i < 2; i++) {
    if (how == 0) rc[i] = libs[i].inflateResetKeep(&p->z[i]);
    else if (how <= 2) rc[i] = libs[i].inflateReset(&p->z[i]);
    else rc[i] = libs[i].inflateReset2(&p->z[i], bits);
  }
  note("reset %d, bits %d: %d %d", how, bits, rc[0], rc[1]);
  same_rc("inflateReset", rc);
  if (rc[0] != Z_OK) return;
  p->raw = raw, p->bits = bits, p->has_head = 0;
  p->primed = 0;
  p->small = p->small || ((bits < 0 ? -bits : bits) & 15) != 15;
  for (int i = 0; i < 2; i++)
    if (p->z[i].total_in || p->z[i].total_out)
      differ("inflateReset: counters", "%s: %lu %lu", side_names[i], p->z[i].total_in, p->z[i].total_out);
  /* What inflateResetKeep keeps, is not said. */
  if (how) p->history_len = 0;
  p->no_window = how == 0;
  go_to(p, one_in(r, 3) ? before : 0);
  same_fields(p, "inflateReset", 0);
  tally("inflate: resets");
}

static void get_dictionary(struct pair *p, struct rng *r) {
  static unsigned char got[2][1 << 16];
  uInt len[2];
  int rc[2], with_bytes = !one_in(r, 6);
  if (p->lag || p->over || p->no_window) return;
  for (int i = 0; i < 2; i++) {
    len[i] = 99;
    rc[i] = libs[i].inflateGetDictionary(&p->z[i], with_bytes ? got[i] : NULL, &len[i]);
    /* Within the trailer the reference's window may lack the last output. */
    if (i == STOCK && rc[i] == Z_OK && (p->z[i].data_type & 64) && len[i] <= p->history_len &&
        (!with_bytes || memcmp(got[i], p->history + p->history_len - len[i], len[i])))
      return;
    if (rc[i] != Z_OK || len[i] > 32768 || len[i] > p->history_len ||
        (with_bytes && memcmp(got[i], p->history + p->history_len - len[i], len[i])))
      differ("inflateGetDictionary", "%s: %d, %u bytes of %zu", side_names[i], rc[i], len[i], p->history_len);
  }
  if (len[1] < len[0]) differ("inflateGetDictionary: length", "%u %u", len[0], len[1]);
  /* After inflateReset2 to a smaller window more may be known than that window's length. */
  if (len[1] > len[0]) remark("inflateGetDictionary: more than the reference", "%u %u", len[0], len[1]);
  tally("inflate: dictionaries read");
}

static void set_dictionary(struct pair *p, struct rng *r) {
  /* zlib.h: raw at any time. (In the middle of a match its rest would come from elsewhere.) */
  if (!same_place(p) || p->full || p->over || p->sync_found) return;
  struct bytes d = made.dict;
  int none = one_in(r, 20), rc[2];
  if (!d.len || one_in(r, 3)) d = make_data(r, below(r, one_in(r, 3) ? 40000 : 300));
  if (none) d.len = 0;
  for (int i = 0; i < 2; i++) rc[i] = libs[i].inflateSetDictionary(&p->z[i], d.at, (uInt)d.len);
  same_rc("inflateSetDictionary at any time", rc);
  same_fields(p, "inflateSetDictionary at any time", 0);
  if (rc[0] == Z_OK) history_add(p, d.at, d.len), tally("inflate: dictionaries, raw");
}

static void find_sync(struct pair *p, struct rng *r) {
  int rc[2];
  if (!same_place(p)) return;
  /* Where the window is the header's, and none was read, the reference goes on with a window of one byte,
     which it also uses, as if it were larger, for the stream after a reset. */
  if (!p->raw && (p->bits & 15) == 0) return;
  size_t left = made.stream.len - p->at[0];
  size_t given = one_in(r, 2) ? left : below(r, (uint32_t)left + 1);
  for (int i = 0; i < 2; i++) {
    z_stream *z = &p->z[i];
    z->next_in = (Bytef *)guard_input(made.stream.at + p->at[i], given), z->avail_in = (uInt)given;
    uLong in_before = z->total_in, out_before = z->total_out;
    rc[i] = libs[i].inflateSync(z);
    p->at[i] += given - z->avail_in;
    if (z->total_in != in_before + given - z->avail_in || z->total_out != out_before)
      differ("inflateSync: counters", "%s: total_in %lu, then %lu", side_names[i], in_before, z->total_in);
  }
  same_rc("inflateSync", rc);
  if (!same_place(p) && rc[0] == Z_OK) differ("inflateSync: place", "%zu %zu", p->at[0], p->at[1]);
  if (rc[0] == Z_OK) {
    go_to(p, p->at[0]);
    p->history_len = 0, p->sync_found = p->unchecked = 1;
    tally("inflate: sync found");
  } else if (rc[0] != Z_STREAM_ERROR && rc[0] != Z_BUF_ERROR) {
    /* Only another search may follow. */
    p->over = 1;
  }
}

static void prime(struct pair *p, struct rng *r) {
  int rc[2];
  /* zlib.h: before the first call, of a raw stream. Elsewhere where the bits held are known. */
  if (p->at[0] != p->at[1] || p->z[0].total_in || p->over || p->lag) return;
  /* More than a byte can be given, but the reference then hands bytes back that it was not given as
     input: such bits are only taken away again. */
  size_t left = made.stream.len - p->at[0], bytes = one_in(r, 3) ? between(r, 1, 4) : 1;
  if (!p->raw || left < bytes || p->primed) return;
  p->primed = 1;
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; i++) value |= (uint32_t)made.stream.at[p->at[0] + i] << 8 * i;
  for (int at = 0, bits = (int)bytes * 8; at < bits;) {
    int n = between(r, 0, bits - at < 16 ? bits - at : 16);
    for (int i = 0; i < 2; i++) rc[i] = libs[i].inflatePrime(&p->z[i], n, (int)(value >> at & ((1u << n) - 1)));
    same_rc("inflatePrime", rc);
    if (rc[0] != Z_OK) break;
    at += n;
  }
  int extra = one_in(r, 6) ? between(r, 17, 40) : 0;
  for (int i = 0; i < 2 && extra; i++) rc[i] = libs[i].inflatePrime(&p->z[i], extra, 0);
  if (extra) same_rc("inflatePrime, too many", rc);
  if (bytes > 1 || one_in(r, 8)) {
    for (int i = 0; i < 2; i++) rc[i] = libs[i].inflatePrime(&p->z[i], -1, 0);
    same_rc("inflatePrime, negative", rc);
  } else {
    go_to(p, p->at[0] + bytes);
  }
  tally("inflate: primes");
}

static void get_header(struct pair *p) {
  int rc[2];
  if (p->z[0].total_in || p->has_head) return;
  memset(p->head, 0, sizeof p->head);
  memset(p->texts, 0, sizeof p->texts);
  for (int i = 0; i < 2; i++) {
    gz_header *h = &p->head[i];
    h->extra = p->texts[i][0], h->name = p->texts[i][1], h->comment = p->texts[i][2];
    h->extra_max = (uInt)(now.seed % 41), h->name_max = (uInt)(now.seed / 41 % 41), h->comm_max = 40;
    h->done = 99;
    rc[i] = libs[i].inflateGetHeader(&p->z[i], h);
  }
  same_rc("inflateGetHeader", rc);
  p->has_head = rc[0] == Z_OK;
}

static void copy(struct pair *p, struct rng *r) {
  struct pair *q = NULL;
  for (int i = 0; i < PAIRS; i++)
    if (!pairs[i].open) q = &pairs[i];
  if (!q) return;
  *q = *p;
  q->history = NULL, q->history_len = q->history_cap = 0;
  history_add(q, p->history, p->history_len);
  for (int i = 0; i < 2; i++) {
    memset(&q->z[i], (int)below(r, 256), sizeof q->z[i]);
    int rc = libs[i].inflateCopy(&q->z[i], &p->z[i]);
    if (rc != Z_OK) differ("inflateCopy", "%s: %d", side_names[i], rc);
  }
  /* The header struct belongs to both now: what each writes there is not compared. */
  if (p->has_head) p->has_head = q->has_head = 0;
  q->open = 1;
  same_fields(q, "inflateCopy", 0);
  tally("inflate: copies");
}

static void ask(struct pair *p, struct rng *r) {
  int rc[2];
  switch (below(r, 6)) {
    case 0:
      for (int i = 0; i < 2; i++) rc[i] = libs[i].inflateSyncPoint(&p->z[i]);
      /* zlib.h does not document it. */
      if (rc[0] != rc[1]) remark("inflateSyncPoint", "%d %d", rc[0], rc[1]);
      break;
    case 1: {
      long mark[2];
      for (int i = 0; i < 2; i++) mark[i] = libs[i].inflateMark(&p->z[i]);
      if (mark[0] != mark[1])
        remark(p->over ? "inflateMark after an end or error" : "inflateMark", "%ld %ld and %ld %ld (place %zu %zu, full %d)", mark[0] >> 16, mark[0] & 65535,
               mark[1] >> 16, mark[1] & 65535, p->at[0], p->at[1], p->full);
      break;
    }
    case 2: {
      int check = between(r, 0, 1);
      if (p->sync_found) return;
      for (int i = 0; i < 2; i++) rc[i] = libs[i].inflateValidate(&p->z[i], check);
      same_rc("inflateValidate", rc);
      p->unchecked = 1;
      break;
    }
    case 3:
      for (int i = 0; i < 2; i++) rc[i] = libs[i].inflateUndermine(&p->z[i], 0);
      same_rc("inflateUndermine", rc);
      break;
    case 4: {
      int how = between(r, 0, 3);
      for (int i = 0; i < 2; i++) {
        const struct lib *l = &libs[i];
        z_stream *z = &p->z[i];
        z->next_in = (Bytef *)guard_input(made.stream.at, 0), z->avail_in = 0;
        z->next_out = guard_output(10), z->avail_out = 10;
        if (how == 0) rc[i] = l->inflate(NULL, 0) + 10 * l->inflateReset(NULL) + 100 * l->inflateEnd(NULL);
        else if (how == 1) z->next_out = NULL, rc[i] = l->inflate(z, Z_NO_FLUSH);
        else if (how == 2) z->next_in = NULL, z->avail_in = 1, rc[i] = l->inflate(z, Z_NO_FLUSH);
        else rc[i] = l->inflateCopy(NULL, z) + 10 * l->inflateSync(NULL) + 100 * l->inflatePrime(NULL, 1, 1);
        z->avail_in = 0;
      }
      same_rc("inflate: refused", rc);
      break;
    }
    default:
      get_header(p);
      break;
  }
}

static void end_pair(struct pair *p) {
  for (int i = 0; i < 2; i++) {
    int rc = libs[i].inflateEnd(&p->z[i]), again = libs[i].inflateEnd(&p->z[i]);
    if (rc != Z_OK || again != Z_STREAM_ERROR) differ("inflateEnd", "%s: %d, again %d", side_names[i], rc, again);
  }
  p->open = 0;
}

static int start(struct pair *p, struct rng *r) {
  int rc[2], size = sizeof(z_stream), simple = one_in(r, 6);
  const char *version = ZLIB_VERSION;
  int window = one_in(r, 3) ? between(r, 8, 15) : one_in(r, 2) ? made.bits : 15;
  switch (one_in(r, 8) ? between(r, 0, 4) : made.wrap) {
    case 0: p->bits = -window; break;
    case 1: p->bits = one_in(r, 3) ? window + 32 : window; break;
    case 2: p->bits = one_in(r, 3) ? window + 32 : window + 16; break;
    case 3: p->bits = 0; break;
    default: p->bits = one_in(r, 2) ? between(r, -20, 70) : 32; break;
  }
  if (one_in(r, 60)) version = one_in(r, 2) ? NULL : "0.5";
  if (one_in(r, 60)) size -= 4;
  if (simple) p->bits = 15;
  p->raw = p->bits < 0;
  p->small = (p->raw ? -p->bits & 15 : p->bits & 15) != 15;
  uLong initial = draw(r) & 0xffffffff;
  for (int i = 0; i < 2; i++) {
    z_stream *z = &p->z[i];
    memset(z, 0x5a, sizeof *z);
    z->adler = initial;
    z->zalloc = counted ? counted_alloc : NULL, z->zfree = counted ? counted_free : NULL;
    z->opaque = counted ? &counts[i] : NULL;
    z->next_in = NULL, z->avail_in = 0;
    rc[i] = simple ? libs[i].inflateInit_(z, version, size) : libs[i].inflateInit2_(z, p->bits, version, size);
  }
  note("init bits %d; stream of %zu: wrap %d bits %d, dict %zu, plain %zu", p->bits, made.stream.len, made.wrap,
       made.bits, made.dict.len, made.plain.len);
  same_rc("inflateInit2", rc);
  if (rc[0] != Z_OK) return 0;
  p->open = 1;
  if (p->z[0].total_in || p->z[1].total_in) differ("inflateInit2: total_in", "not 0");
  same_fields(p, "inflateInit2", 0);
  return 1;
}

void inflate_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  memset(pairs, 0, sizeof pairs);
  memset(counts, 0, sizeof counts);
  make_stream(&r, &made, -1);
  mutate(&r, &made);
  counted = one_in(&r, 3);
  int operations = between(&r, 1, made.stream.len > 60000 ? 12 : one_in(&r, 3) ? OPERATIONS : 16);
  if (!start(&pairs[0], &r)) {
    tally("inflate: refused parameters");
    return;
  }
  tally("sequences: inflate");
  for (int i = 0; i < operations; i++) {
    if (!operation(i, &r)) continue;
    struct pair *p = &pairs[below(&r, PAIRS)];
    while (!p->open) p = &pairs[(p - pairs + 1) % PAIRS];
    if (p->open == 2) {
      reset(p, &r);
      p->open = 1;
      continue;
    }
    if (p->given_up) continue;
    switch (below(&r, 24)) {
      case 0: reset(p, &r); break;
      case 1: copy(p, &r); break;
      case 2: get_dictionary(p, &r); break;
      case 3: set_dictionary(p, &r); break;
      case 4: if (p->over || one_in(&r, 10)) find_sync(p, &r); break;
      case 5: prime(p, &r); break;
      case 6: case 7: ask(p, &r); break;
      default: step(p, &r); break;
    }
  }
  now.op = operations;
  for (struct pair *p = pairs; p < pairs + PAIRS; p++)
    if (p->open) end_pair(p);
  for (int i = 0; i < 2; i++)
    if (counts[i].live || counts[i].foreign)
      differ("inflate: memory not freed", "%s: %ld pieces, %d not its own", side_names[i], counts[i].live,
             counts[i].foreign);
}
