/* compress, uncompress, checksums: single calls. */
#include <string.h>

#include "differential.h"

static void compressed(struct rng *r) {
  struct bytes plain = make_data(r, make_length(r));
  int level = make_level(r, plain.len), bad = one_in(r, 30);
  if (bad) level = one_in(r, 2) ? -2 : 10;
  size_t bounds[2], cap = plain.len + plain.len / 8 + 1000;
  for (int i = 0; i < 2; i++) bounds[i] = libs[i].compressBound(plain.len);
  if (bounds[1] < bounds[0]) remark("compressBound: less", "%zu %zu for %zu", bounds[0], bounds[1], plain.len);
  unsigned char *out = hold(cap);
  uLong sizes[2];
  for (int i = 0; i < 2; i++) {
    /* Whoever knows the reference's formula uses it for our calls. */
    uLong len = bounds[STOCK];
    int rc = level == -1 && one_in(r, 2) ? libs[i].compress(out, &len, plain.at, plain.len)
                                         : libs[i].compress2(out, &len, plain.at, plain.len, level);
    note("%s: compress2 level %d: %d, %zu to %lu of %zu", side_names[i], level, rc, plain.len, len, bounds[0]);
    if (bad) {
      if (rc != Z_STREAM_ERROR) differ("compress2: bad level", "%s: %d", side_names[i], rc);
      continue;
    }
    if (rc != Z_OK || len > bounds[STOCK])
      differ("compress2: within the reference's bound", "%s: level %d, %zu bytes: %d, %lu of %zu", side_names[i],
             level, plain.len, rc, len, bounds[0]);
    sizes[i] = len;
    /* A buffer of that size is enough, less is not, and nothing is written behind it. */
    uLong exact = sizes[i];
    unsigned char *tight = guard_output(exact);
    rc = libs[i].compress2(tight, &exact, plain.at, plain.len, level);
    if (rc != Z_OK || exact != sizes[i])
      differ("compress2: a buffer that fits exactly", "%s: level %d, %zu bytes: %d, %lu of %lu", side_names[i], level,
             plain.len, rc, exact, sizes[i]);
    uLong less = below(r, (uint32_t)sizes[i]);
    size_t room = less;
    rc = libs[i].compress2(guard_output(less), &less, plain.at, plain.len, level);
    /* Less room must not help; a stream that still fits would be right, though. */
    if (rc != Z_BUF_ERROR && !(rc == Z_OK && less <= room))
      differ("compress2: too small a buffer", "%s: level %d: %d, %lu of %zu", side_names[i], level, rc, less, room);
    for (int k = 0; k < 2; k++) {
      uLong back = plain.len;
      unsigned char *again = guard_output(plain.len);
      rc = libs[k].uncompress(again, &back, out, sizes[i]);
      if (rc != Z_OK || back != plain.len || memcmp(again, plain.at, plain.len))
        differ("uncompress of compress2", "%s by %s: level %d: %d, %lu of %zu", side_names[i], side_names[k], level, rc,
               back, plain.len);
    }
  }
  if (!bad && sizes[OURS] > sizes[STOCK] + sizes[STOCK] / 50 + 8)
    remark("compress2: more than 2 % larger", "level %d: %zu bytes to %lu instead of %lu", level, plain.len, sizes[1],
           sizes[0]);
  tally("whole: compress2");
}

static void uncompressed(struct rng *r) {
  struct made m;
  make_stream(r, &m, one_in(r, 20) ? -1 : 1);
  mutate(r, &m);
  uLong room = m.plain.len, source[2], dest[2];
  switch (below(r, 5)) {
    case 0: room += below(r, 100); break;
    case 1: room = below(r, (uint32_t)room + 1); break;
    case 2: room -= room > 0; break;
    default: break;
  }
  int rc[2], two = one_in(r, 2);
  unsigned char *kept = hold(room + 1);
  const unsigned char *in = guard_input(m.stream.at, m.stream.len);
  for (int i = 0; i < 2; i++) {
    source[i] = m.stream.len, dest[i] = room;
    unsigned char *out = guard_output(room);
    rc[i] = two ? libs[i].uncompress2(out, &dest[i], in, &source[i])
                : libs[i].uncompress(out, &dest[i], in, source[i]);
    note("%s: uncompress%s of %zu into %lu: %d, %lu from %lu", side_names[i], two ? "2" : "", m.stream.len, room, rc[i],
         dest[i], source[i]);
    if (i == 1 && rc[0] == rc[1] && dest[0] == dest[1] && memcmp(kept, out, dest[1]))
      differ("uncompress: output", "%lu bytes", dest[1]);
    memcpy(kept, out, dest[i] <= room ? dest[i] : 0);
  }
  if (rc[0] != rc[1]) {
    z_stream z = {0};
    z.next_in = m.stream.at, z.avail_in = (uInt)m.stream.len, z.next_out = hold(room + 1), z.avail_out = (uInt)room;
    libs[STOCK].inflateInit_(&z, ZLIB_VERSION, sizeof z);
    libs[STOCK].inflate(&z, Z_FINISH);
    const char *msg = z.msg ? z.msg : "-";
    libs[STOCK].inflateEnd(&z);
    /* A code of a single symbol has a word that means nothing. A decoder that takes it for the symbol has,
       with the right check value, the right data; the reference calls it an error. */
    const unsigned char *end = in + source[1];
    uLong sum = libs[STOCK].adler32(1, kept, (uInt)dest[1]);
    int right = rc[0] == Z_DATA_ERROR && rc[1] == Z_OK && source[1] > 5 &&
                sum == ((uLong)end[-4] << 24 | end[-3] << 16 | end[-2] << 8 | end[-1]);
    if (!right || (strcmp(msg, "invalid distance code") && strcmp(msg, "invalid literal/length code")))
      differ("uncompress: rc", "%d %d (%zu into %lu; msg %s)", rc[0], rc[1], m.stream.len, room, msg);
    remark("uncompress: a word without a meaning", "%s", msg);
    return;
  }
  if (dest[0] != dest[1]) {
    if (rc[0] == Z_OK) differ("uncompress: length", "%lu %lu", dest[0], dest[1]);
    else remark("uncompress: length after an error", "rc %d: %lu %lu of %lu", rc[0], dest[0], dest[1], room);
  }
  if (two && source[0] != source[1]) {
    if (rc[0] == Z_OK) differ("uncompress2: input taken", "%lu %lu", source[0], source[1]);
    else remark("uncompress2: input taken before an error", "rc %d: %lu %lu", rc[0], source[0], source[1]);
  }
  tally(rc[0] == Z_OK ? "whole: uncompress" : "whole: uncompress fails");
}

void whole_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  tally("sequences: whole");
  if (one_in(&r, 2)) compressed(&r);
  else uncompressed(&r);
}

static void same(const char *what, uLong a, uLong b, size_t len) {
  if (a != b) differ(what, "%lx %lx (length %zu)", a, b, len);
}

void checksum_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  const struct lib *s = &libs[STOCK], *o = &libs[OURS];
  tally("sequences: checksum");
  if (memcmp(s->get_crc_table(), o->get_crc_table(), 256 * sizeof(z_crc_t))) differ("get_crc_table", "differs");
  for (int code = -8; code < 4; code++) {
    if (code < -6 || code > 2) continue;
    if (strcmp(s->zError(code), o->zError(code))) differ("zError", "%d: %s, %s", code, s->zError(code), o->zError(code));
  }
  for (int n = 0; n < 6; n++) {
    struct bytes d = make_data(&r, one_in(&r, 2) ? below(&r, 100) : make_length(&r));
    size_t shift = d.len ? below(&r, (uint32_t)(d.len < 70 ? d.len : 70)) : 0, len = d.len - shift;
    const unsigned char *at = guard_input(d.at + shift, len);
    uLong a = one_in(&r, 2) ? 1 : below(&r, 65521) << 16 | below(&r, 65521);
    uLong c = one_in(&r, 2) ? 0 : draw(&r) & 0xffffffff;
    same("adler32", s->adler32(a, at, (uInt)len), o->adler32(a, at, (uInt)len), len);
    same("adler32_z", s->adler32_z(a, at, len), o->adler32_z(a, at, len), len);
    same("crc32", s->crc32(c, at, (uInt)len), o->crc32(c, at, (uInt)len), len);
    same("crc32_z", s->crc32_z(c, at, len), o->crc32_z(c, at, len), len);
    same("adler32, nothing", s->adler32(a, NULL, 0), o->adler32(a, NULL, 0), 0);
    same("crc32, nothing", s->crc32(c, NULL, 0), o->crc32(c, NULL, 0), 0);
    z_off_t far = one_in(&r, 3) ? (z_off_t)(draw(&r) >> 1) : (z_off_t)below(&r, 1 << 30) >> below(&r, 30);
    uLong c2 = draw(&r) & 0xffffffff, a2 = below(&r, 65521) << 16 | below(&r, 65521);
    same("crc32_combine", s->crc32_combine(c, c2, far), o->crc32_combine(c, c2, far), (size_t)far);
    same("crc32_combine64", s->crc32_combine64(c, c2, far), o->crc32_combine64(c, c2, far), (size_t)far);
    same("adler32_combine", s->adler32_combine(a, a2, far), o->adler32_combine(a, a2, far), (size_t)far);
    same("adler32_combine64", s->adler32_combine64(a, a2, far), o->adler32_combine64(a, a2, far), (size_t)far);
    same("adler32_combine, negative", s->adler32_combine(a, a2, -far - 1), o->adler32_combine(a, a2, -far - 1), 0);
    uLong op = one_in(&r, 2) ? o->crc32_combine_gen(far) : o->crc32_combine_gen64(far);
    same("crc32_combine_op", s->crc32_combine_op(c, c2, s->crc32_combine_gen(far)), o->crc32_combine_op(c, c2, op),
         (size_t)far);
    /* In two parts. */
    size_t cut = len ? below(&r, (uint32_t)len) : 0;
    same("crc32 in two parts", s->crc32(c, at, (uInt)len), o->crc32(o->crc32(c, at, (uInt)cut), at + cut, (uInt)(len - cut)),
         len);
    same("adler32 in two parts", s->adler32(a, at, (uInt)len),
         o->adler32(o->adler32(a, at, (uInt)cut), at + cut, (uInt)(len - cut)), len);
  }
}
