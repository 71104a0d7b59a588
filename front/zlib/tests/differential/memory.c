/* Allocators that fail at the n-th call: Z_MEM_ERROR or success, nothing leaks, nothing crashes. Each
   library alone, since they allocate differently. */
#include <string.h>

#include "differential.h"

static struct bytes plain;

static void end(int i, z_stream *z, int (*how)(z_streamp), const struct allocator *a, const char *what) {
  /* After a failed init there may be no state: refused, then. */
  int rc = how(z);
  if (rc != Z_OK && rc != Z_DATA_ERROR && rc != Z_STREAM_ERROR) differ("memory: end", "%s: %s %d", side_names[i], what, rc);
  if (a->live || a->foreign)
    differ("memory: not freed", "%s: %s: %ld pieces, %d not its own (failing at %ld of %ld)", side_names[i], what,
           a->live, a->foreign, a->fail_at, a->calls);
}

static void deflated(int i, struct rng r, struct allocator *a) {
  z_stream z, copy;
  memset(&z, 0x5a, sizeof z);
  memset(&copy, 0, sizeof copy);
  z.zalloc = counted_alloc, z.zfree = counted_free, z.opaque = a;
  int wrap = between(&r, 0, 2), bits = wrap == 0 ? -15 : wrap == 1 ? 15 : 31;
  int rc = libs[i].deflateInit2_(&z, make_level(&r, plain.len), Z_DEFLATED, bits, between(&r, 1, 9), 0, ZLIB_VERSION, sizeof z);
  if (rc == Z_MEM_ERROR) {
    tally("memory: deflateInit fails");
    if (a->live) differ("memory: not freed", "%s: deflateInit2 failed: %ld pieces", side_names[i], a->live);
    return;
  }
  if (rc != Z_OK) differ("memory: deflateInit2", "%s: %d", side_names[i], rc);
  z.next_in = plain.at, z.avail_in = (uInt)plain.len / 2;
  size_t cap = plain.len + plain.len / 4 + 1000;
  unsigned char *out = hold(cap);
  z.next_out = out, z.avail_out = (uInt)cap;
  rc = libs[i].deflate(&z, Z_SYNC_FLUSH);
  if (rc != Z_OK && rc != Z_MEM_ERROR && rc != Z_BUF_ERROR) differ("memory: deflate", "%s: %d", side_names[i], rc);
  if (rc == Z_OK) {
    int copied = libs[i].deflateCopy(&copy, &z);
    if (copied != Z_OK && copied != Z_MEM_ERROR) differ("memory: deflateCopy", "%s: %d", side_names[i], copied);
    if (copied == Z_OK) {
      libs[i].deflateEnd(&copy);
    } else {
      tally("memory: deflateCopy fails");
    }
    z.avail_in = (uInt)(plain.len - z.total_in);
    rc = libs[i].deflate(&z, Z_FINISH);
    if (rc == Z_STREAM_END) {
      unsigned char *back = hold(plain.len + 1);
      z_stream d = {0};
      d.next_in = out, d.avail_in = (uInt)z.total_out, d.next_out = back, d.avail_out = (uInt)plain.len + 1;
      libs[STOCK].inflateInit2_(&d, bits, ZLIB_VERSION, sizeof d);
      rc = libs[STOCK].inflate(&d, Z_FINISH);
      if (rc != Z_STREAM_END || d.total_out != plain.len || memcmp(back, plain.at, plain.len))
        differ("memory: deflate", "%s: does not decode", side_names[i]);
      libs[STOCK].inflateEnd(&d);
    } else if (rc != Z_MEM_ERROR) {
      differ("memory: deflate, Z_FINISH", "%s: %d", side_names[i], rc);
    }
  }
  end(i, &z, libs[i].deflateEnd, a, "deflate");
}

static void inflated(int i, struct rng r, struct allocator *a, const struct made *m) {
  z_stream z, copy;
  memset(&z, 0x5a, sizeof z);
  memset(&copy, 0, sizeof copy);
  z.zalloc = counted_alloc, z.zfree = counted_free, z.opaque = a, z.next_in = NULL, z.avail_in = 0;
  int bits = m->wrap == 0 ? -15 : m->wrap == 1 ? 15 : 31;
  int rc = libs[i].inflateInit2_(&z, bits, ZLIB_VERSION, sizeof z);
  if (rc == Z_MEM_ERROR) {
    tally("memory: inflateInit fails");
    if (a->live) differ("memory: not freed", "%s: inflateInit2 failed: %ld pieces", side_names[i], a->live);
    return;
  }
  if (rc != Z_OK) differ("memory: inflateInit2", "%s: %d", side_names[i], rc);
  unsigned char *out = hold(m->plain.len + 1);
  z.next_in = m->stream.at;
  z.next_out = out;
  int failed = 0;
  while (!failed) {
    size_t in_left = m->stream.len - (size_t)(z.next_in - m->stream.at), out_left = m->plain.len + 1 - (size_t)(z.next_out - out);
    z.avail_in = (uInt)(in_left < 5000 ? in_left : 5000);
    z.avail_out = (uInt)(out_left < 20000 ? out_left : 20000);
    rc = libs[i].inflate(&z, one_in(&r, 2) ? Z_SYNC_FLUSH : Z_FINISH);
    if (rc == Z_NEED_DICT) rc = libs[i].inflateSetDictionary(&z, m->dict.at, (uInt)m->dict.len);
    failed = rc == Z_MEM_ERROR;
    if (failed || rc == Z_STREAM_END) break;
    if (rc != Z_OK && rc != Z_BUF_ERROR) differ("memory: inflate", "%s: %d", side_names[i], rc);
    if (one_in(&r, 3)) {
      int copied = libs[i].inflateCopy(&copy, &z);
      if (copied != Z_OK && copied != Z_MEM_ERROR) differ("memory: inflateCopy", "%s: %d", side_names[i], copied);
      if (copied == Z_OK) libs[i].inflateEnd(&copy);
      else tally("memory: inflateCopy fails");
    }
  }
  if (failed) {
    tally("memory: inflate fails");
  } else if ((size_t)(z.next_out - out) != m->plain.len || memcmp(out, m->plain.at, m->plain.len)) {
    differ("memory: inflate", "%s: wrong output", side_names[i]);
  }
  end(i, &z, libs[i].inflateEnd, a, "inflate");
}

void memory_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  tally("sequences: memory");
  int which = between(&r, 0, 1), fail_at = between(&r, 1, 8);
  struct made m = {0};
  if (which) {
    do make_stream(&r, &m, -1);
    while (!m.plain.len || (m.wrap == 0 && m.dict.len));
    /* Of our own blocks those that cannot be decoded have no content. */
  } else {
    plain = make_data(&r, make_length(&r));
  }
  for (int i = 0; i < 2; i++) {
    struct allocator a = {0, 0, fail_at, 0};
    if (which) inflated(i, r, &a, &m);
    else deflated(i, r, &a);
  }
}
