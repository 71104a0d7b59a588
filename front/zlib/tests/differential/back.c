/* Sequences on inflateBack: raw streams through callbacks. */
#include <string.h>

#include "differential.h"

struct ends {
  const unsigned char *at;
  size_t left, given;
  /* Pieces of this size; no input after `fail_in` bytes, no room after `fail_out`. */
  size_t piece, fail_in, fail_out;
  unsigned char *out;
  size_t out_len, out_cap;
};

static unsigned read_piece(void *from, z_const unsigned char **at) {
  struct ends *e = from;
  size_t n = e->piece < e->left ? e->piece : e->left;
  if (e->given + n > e->fail_in) n = e->fail_in - e->given;
  *at = (z_const unsigned char *)guard_input(e->at, n);
  e->at += n, e->left -= n, e->given += n;
  return (unsigned)n;
}

static int write_piece(void *to, unsigned char *at, unsigned len) {
  struct ends *e = to;
  if (e->out_len + len > e->out_cap) len = (unsigned)(e->out_cap - e->out_len);
  memcpy(e->out + e->out_len, at, len);
  e->out_len += len;
  return e->out_len > e->fail_out;
}

static int goes_too_far_back(const z_stream *z, int rc) {
  return rc == Z_DATA_ERROR && z->msg && !strcmp(z->msg, "invalid distance too far back");
}

/* Whether a distance leads to before the output. The reference's inflateBack lets many such pass, and
   copies what was in the window's memory; its inflate does not. Of a window smaller than the largest,
   what is too far back depends on the pieces of output. */
static int invalid(const struct made *m) {
  static unsigned char out[1 << 20];
  z_stream z = {0};
  int rc;
  if (libs[STOCK].inflateInit2_(&z, -15, ZLIB_VERSION, sizeof z) != Z_OK) return 0;
  z.next_in = m->stream.at, z.avail_in = (uInt)m->stream.len;
  do {
    z.next_out = out, z.avail_out = sizeof out;
    rc = libs[STOCK].inflate(&z, Z_NO_FLUSH);
  } while (rc == Z_OK && !z.avail_out);
  int far = goes_too_far_back(&z, rc);
  libs[STOCK].inflateEnd(&z);
  return far;
}

void back_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  struct made m;
  do make_stream(&r, &m, 0);
  while (m.dict.len);
  mutate(&r, &m);
  tally("sequences: back");
  int bits = one_in(&r, 3) ? between(&r, 7, 16) : one_in(&r, 2) ? m.bits : 15;
  size_t piece = one_in(&r, 3) ? 1 + below(&r, 8) : 1 + below(&r, (uint32_t)m.stream.len + 1);
  if (piece < m.stream.len / 500) piece = m.stream.len / 500;
  size_t fail_in = one_in(&r, 8) ? below(&r, (uint32_t)m.stream.len + 1) : SIZE_MAX / 2;
  size_t fail_out = one_in(&r, 8) ? below(&r, (uint32_t)m.plain.len + 1) : SIZE_MAX / 2;
  /* How often the same stream is begun again: inflateBack leaves it ready. */
  int turns = between(&r, 1, 2), counted = one_in(&r, 2);
  size_t given_first = one_in(&r, 2) ? below(&r, (uint32_t)(m.stream.len < 40 ? m.stream.len : 40) + 1) : 0;
  struct allocator counts[2] = {{0}, {0}};
  z_stream z[2];
  unsigned char *window[2] = {hold(1 << 15), hold(1 << 15)};
  int rc[2];
  for (int i = 0; i < 2; i++) {
    memset(window[i], 0, 1 << 15);
    memset(&z[i], 0x5a, sizeof z[i]);
    z[i].zalloc = counted ? counted_alloc : NULL, z[i].zfree = counted ? counted_free : NULL;
    z[i].opaque = &counts[i];
    rc[i] = libs[i].inflateBackInit_(&z[i], bits, window[i], ZLIB_VERSION, sizeof z[i]);
  }
  note("back: bits %d, stream of %zu (bits %d), pieces of %zu, %zu first: init %d %d", bits, m.stream.len, m.bits,
       piece, given_first, rc[0], rc[1]);
  if (rc[0] != rc[1]) differ("inflateBackInit", "bits %d: %d %d", bits, rc[0], rc[1]);
  if (rc[0] != Z_OK) return;
  for (int turn = 0; turn < turns; turn++) {
    struct ends e[2];
    for (int i = 0; i < 2; i++) {
      size_t cap = m.plain.len + 2000000 / (m.stream.len > 100000 ? 1 : 2);
      e[i] = (struct ends){m.stream.at + given_first, m.stream.len - given_first, given_first, piece, fail_in,
                           fail_out, hold(cap), 0, cap};
      if (e[i].fail_in < given_first) e[i].fail_in = given_first;
      z[i].next_in = given_first || turn ? (Bytef *)m.stream.at : NULL;
      z[i].avail_in = (uInt)given_first;
      rc[i] = libs[i].inflateBack(&z[i], read_piece, &e[i], write_piece, &e[i]);
      note("%s: inflateBack %d, out %zu, left %u of %zu, msg %s", side_names[i], rc[i], e[i].out_len,
           z[i].avail_in, e[i].given, z[i].msg ? z[i].msg : "-");
    }
    if (goes_too_far_back(&z[0], rc[0]) != goes_too_far_back(&z[1], rc[1]) && (bits < 15 || invalid(&m))) {
      remark("inflateBack: distance too far back", "%d %d (bits %d)", rc[0], rc[1], bits);
      return;
    }
    size_t less = e[0].out_len < e[1].out_len ? e[0].out_len : e[1].out_len;
    if (memcmp(e[0].out, e[1].out, less)) differ("inflateBack: output", "of %zu", less);
    if (rc[0] != rc[1])
      differ("inflateBack: rc", "%d %d (msg %s, %s)", rc[0], rc[1], z[0].msg ? z[0].msg : "-",
             z[1].msg ? z[1].msg : "-");
    size_t place[2] = {e[0].given - z[0].avail_in, e[1].given - z[1].avail_in};
    if (rc[0] == Z_STREAM_END) {
      if (e[0].out_len != e[1].out_len) differ("inflateBack: amount of output", "%zu %zu", e[0].out_len, e[1].out_len);
      if (place[0] != place[1]) differ("inflateBack: place of the end", "%zu %zu", place[0], place[1]);
      tally("back: ends");
    } else {
      if (place[0] != place[1]) remark("inflateBack: place of an error", "%zu %zu", place[0], place[1]);
      if (e[0].out_len != e[1].out_len)
        remark("inflateBack: output before an error", "%zu %zu", e[0].out_len, e[1].out_len);
      /* zlib.h: this is how callers know which end failed. */
      if (rc[0] == Z_BUF_ERROR && !z[0].next_in != !z[1].next_in)
        differ("inflateBack: which end failed", "%d %d", !z[0].next_in, !z[1].next_in);
      if (rc[0] == Z_DATA_ERROR && (!z[0].msg || !z[1].msg || strcmp(z[0].msg, z[1].msg)))
        differ("inflateBack: msg", "%s, %s", z[0].msg ? z[0].msg : "-", z[1].msg ? z[1].msg : "-");
      tally("back: errors");
    }
  }
  for (int i = 0; i < 2; i++) {
    rc[i] = libs[i].inflateBackEnd(&z[i]);
    if (rc[i] != Z_OK || counts[i].live || counts[i].foreign)
      differ("inflateBackEnd", "%s: %d, %ld pieces", side_names[i], rc[i], counts[i].live);
  }
}
