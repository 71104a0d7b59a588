/* gz files: written by each side and read by each side; valid, altered and foreign ones. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "differential.h"

/* The files are in memory, and have a name for gzopen. */
static int file(int i) {
  static int fds[2] = {-1, -1};
  if (fds[i] < 0) fds[i] = memfd_create("differential", 0);
  return fds[i];
}

static const char *path(int i) {
  static char names[2][40];
  snprintf(names[i], sizeof names[i], "/proc/self/fd/%d", file(i));
  return names[i];
}

static void set_content(int i, const unsigned char *at, size_t len) {
  if (ftruncate(file(i), 0) || pwrite(file(i), at, len, 0) != (ssize_t)len) differ("files: memfd", "%d", errno);
}

static void both(const char *what, long a, long b) {
  note("%s: %ld %ld", what, a, b);
  if (a != b) differ(what, "%ld %ld", a, b);
}

static gzFile open_one(int i, const char *mode, int by_number) {
  if (!by_number) return libs[i].gzopen(path(i), mode);
  int fd = open(path(i), !strcmp(mode, "rw") ? O_RDWR : strchr(mode, 'r') ? O_RDONLY : strchr(mode, 'a') ? O_WRONLY | O_APPEND : O_WRONLY | O_TRUNC);
  gzFile f = libs[i].gzdopen(fd, mode);
  if (!f) close(fd);
  return f;
}

static void state(gzFile *f, const char *after) {
  int code[2];
  const char *text[2];
  for (int i = 0; i < 2; i++) text[i] = libs[i].gzerror(f[i], &code[i]);
  if (code[0] != code[1]) differ("gzerror: code", "after %s: %d %d (%s, %s)", after, code[0], code[1], text[0], text[1]);
  /* The text begins with the path, which differs by side. */
  const char *a = text[0] ? strrchr(text[0], ':') : NULL, *b = text[1] ? strrchr(text[1], ':') : NULL;
  if (code[0] && (!a != !b || (a && strcmp(a, b))))
    remark("gzerror: text", "after %s: %s, %s", after, text[0] ? text[0] : "-", text[1] ? text[1] : "-");
  both("gztell", libs[0].gztell(f[0]), libs[1].gztell(f[1]));
  both("gzeof", libs[0].gzeof(f[0]), libs[1].gzeof(f[1]));
}

static void write_mode(struct rng *r, size_t len, char *mode) {
  static const char *const kinds[] = {"w", "wb", "a", "wx", "r+", "", "wbe"};
  static const char *const extras[] = {"", "T", "f", "h", "R", "F", "9T"};
  strcpy(mode, kinds[one_in(r, 12) ? below(r, LENGTH(kinds)) : below(r, 2)]);
  if (!one_in(r, 3)) sprintf(mode + strlen(mode), "%d", make_level(r, len) & 7);
  if (one_in(r, 3)) strcat(mode, extras[below(r, LENGTH(extras))]);
}

static void written(struct rng *setup) {
  char mode[20];
  gzFile f[2];
  struct bytes data = make_data(setup, make_length(setup) + 100);
  size_t at = 0;
  write_mode(setup, data.len, mode);
  for (int i = 0; i < 2; i++) set_content(i, (const unsigned char *)"before", strchr(mode, 'a') ? 0 : 6);
  int by_number = one_in(setup, 3);
  for (int i = 0; i < 2; i++) f[i] = open_one(i, mode, by_number);
  note("open %s: %d %d", mode, f[0] != NULL, f[1] != NULL);
  if (!f[0] != !f[1]) differ("gzopen", "mode %s: %d %d", mode, f[0] != NULL, f[1] != NULL);
  if (!f[0]) return;
  tally("files: written");
  int operations = between(setup, 1, 20);
  unsigned char *expected = hold(data.len * 2 + 400000);
  size_t len = 0;
  struct rng r;
  for (int n = 0; n < operations; n++) {
    if (!operation(n, &r)) continue;
    long rc[2];
    size_t part = below(&r, (uint32_t)(data.len - at) + 1) / (one_in(&r, 2) ? 1 : 4);
    const char *what = "gzwrite";
    switch (below(&r, 12)) {
      case 0: {
        int c = between(&r, 0, 300);
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzputc(f[i], c);
        if (rc[0] >= 0) expected[len++] = (unsigned char)c;
        what = "gzputc";
        break;
      }
      case 1:
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzputs(f[i], "some text\n");
        if (rc[0] > 0) memcpy(expected + len, "some text\n", 10), len += 10;
        what = "gzputs";
        break;
      case 2: {
        int number = (int)draw(&r), width = between(&r, 1, one_in(&r, 4) ? 9000 : 30);
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzprintf(f[i], "%*d|%s", width, number, "x");
        if (rc[0] > 0) len += (size_t)sprintf((char *)expected + len, "%*d|%s", width, number, "x");
        what = "gzprintf";
        break;
      }
      case 3: {
        int flush = one_in(&r, 8) ? between(&r, -1, 6) : between(&r, 1, 4);
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzflush(f[i], flush);
        what = "gzflush";
        break;
      }
      case 4: {
        int level = make_level(&r, data.len), strategy = between(&r, 0, 4);
        /* Where nothing is compressed, the reference reads a state that it never set. */
        if (strchr(mode, 'T')) continue;
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzsetparams(f[i], level, strategy);
        what = "gzsetparams";
        break;
      }
      case 5: {
        z_off_t far = one_in(&r, 4) ? -5 : (z_off_t)below(&r, 9000);
        /* Before the first byte the reference would write memory that it never set. */
        if (!len) continue;
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzseek(f[i], far, SEEK_CUR);
        /* Zeros, of which a later call may take some back. */
        if (rc[0] > (long)len) memset(expected + len, 0, (size_t)rc[0] - len);
        /* One that fails takes back what was not yet done of those before. */
        len = (size_t)libs[STOCK].gztell(f[STOCK]);
        what = "gzseek";
        break;
      }
      case 6: {
        size_t item = 1 + below(&r, 9), items = part / item;
        for (int i = 0; i < 2; i++) rc[i] = (long)libs[i].gzfwrite(data.at + at, item, items, f[i]);
        if (rc[0] > 0) memcpy(expected + len, data.at + at, (size_t)rc[0] * item), len += (size_t)rc[0] * item, at += (size_t)rc[0] * item;
        what = "gzfwrite";
        break;
      }
      case 7: {
        /* With less the reference repeats a flush for ever. */
        unsigned size = 8 + below(&r, one_in(&r, 2) ? 20 : 100000);
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzbuffer(f[i], size);
        what = "gzbuffer";
        break;
      }
      case 8:
        for (int i = 0; i < 2; i++) {
          unsigned char byte;
          rc[i] = libs[i].gzread(f[i], &byte, 1) + 10 * libs[i].gzgetc(f[i]) + 100 * libs[i].gzdirect(f[i]);
        }
        what = "reading while writing";
        break;
      default:
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzwrite(f[i], data.at + at, (unsigned)part);
        if (rc[0] > 0) memcpy(expected + len, data.at + at, part), len += part, at += part;
        break;
    }
    both(what, rc[0], rc[1]);
    state(f, what);
  }
  now.op = operations;
  for (int i = 0, rc[2]; i < 2; i++) {
    rc[i] = one_in(&r, 2) ? libs[i].gzclose_w(f[i]) : libs[i].gzclose(f[i]);
    if (i) both("gzclose", rc[0], rc[1]);
  }
  /* What was not compressed may look as if it were. */
  if (strchr(mode, 'T') && len > 1 && expected[0] == 0x1f && expected[1] == 0x8b) return;
  /* Both read what both have written. */
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < 2; k++) {
      gzFile g = libs[k].gzopen(path(i), "r");
      unsigned char *back = hold(len + 1);
      long n = g ? libs[k].gzread(g, back, (unsigned)len + 1) : -9;
      int end = g ? libs[k].gzclose(g) : 0;
      if (n != (long)len || memcmp(back, expected, len) || (end && end != Z_BUF_ERROR))
        differ("files: read back", "written by %s, read by %s, mode %s: %ld of %zu, close %d", side_names[i],
               side_names[k], mode, n, len, end);
    }
  }
}

static void read_file(struct rng *setup) {
  struct bytes all = {hold(12 << 20), 0};
  static const char *const modes[] = {"r", "rb", "rT", "re", "r9", "rx", "rw"};
  const char *mode = modes[one_in(setup, 4) ? below(setup, LENGTH(modes)) : 0];
  gzFile f[2];
  /* Members, junk, or something that was never compressed. */
  for (int n = one_in(setup, 3) ? between(setup, 2, 4) : 1; n; n--) {
    struct made m;
    if (one_in(setup, 6)) {
      m.stream = make_data(setup, make_length(setup));
      if (m.stream.len > 1 && one_in(setup, 3)) memcpy(m.stream.at, "\x1f\x8b", 2);
    } else {
      make_stream(setup, &m, 2);
      if (one_in(setup, 2)) mutate(setup, &m);
    }
    if (all.len + m.stream.len > 12 << 20) break;
    memcpy(all.at + all.len, m.stream.at, m.stream.len);
    all.len += m.stream.len;
  }
  for (int i = 0; i < 2; i++) set_content(i, all.at, all.len);
  int by_number = one_in(setup, 3), operations = between(setup, 1, 24);
  for (int i = 0; i < 2; i++) f[i] = open_one(i, mode, by_number);
  note("open %s of %zu: %d %d", mode, all.len, f[0] != NULL, f[1] != NULL);
  if (!f[0] != !f[1]) differ("gzopen", "mode %s: %d %d", mode, f[0] != NULL, f[1] != NULL);
  if (!f[0]) return;
  tally("files: read");
  struct rng r = *setup;
  unsigned char *got[2];
  size_t most = 300000;
  int started = 0;
  for (int i = 0; i < 2; i++) got[i] = hold(most);
  for (int n = 0; n < operations; n++) {
    if (!operation(n, &r)) continue;
    long rc[2];
    const char *what = "gzread";
    size_t len = below(&r, one_in(&r, 3) ? (uint32_t)most : 300), filled = 0;
    for (int i = 0; i < 2; i++) memset(got[i], 0, len);
    switch (below(&r, 14)) {
      case 0:
        for (int i = 0; i < 2; i++) rc[i] = one_in(&r, 2) ? libs[i].gzgetc(f[i]) : libs[i].gzgetc_(f[i]);
        what = "gzgetc";
        break;
      case 1: {
        int c = one_in(&r, 8) ? -1 : between(&r, 0, 255);
        /* Before anything was read the reference has no buffer for it, and crashes. */
        if (!started) continue;
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzungetc(c, f[i]);
        what = "gzungetc";
        break;
      }
      case 2: case 3: {
        char *line[2];
        for (int i = 0; i < 2; i++) {
          line[i] = libs[i].gzgets(f[i], (char *)got[i], (int)len);
          rc[i] = line[i] ? (long)strlen(line[i]) : -1;
        }
        filled = line[0] ? len : 0;
        what = "gzgets";
        break;
      }
      case 4: {
        int whence = one_in(&r, 10) ? SEEK_END : one_in(&r, 2) ? SEEK_SET : SEEK_CUR;
        z_off_t to = (z_off_t)below(&r, one_in(&r, 2) ? 200 : 100000) - (whence == SEEK_CUR || one_in(&r, 9) ? 60 : 0);
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzseek(f[i], to, whence);
        what = "gzseek";
        break;
      }
      case 5:
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzrewind(f[i]);
        what = "gzrewind";
        break;
      case 6:
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzdirect(f[i]);
        what = "gzdirect";
        break;
      case 7: {
        unsigned size = below(&r, one_in(&r, 2) ? 20 : 100000);
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzbuffer(f[i], size);
        what = "gzbuffer";
        break;
      }
      case 8: {
        size_t item = 1 + below(&r, 9);
        for (int i = 0; i < 2; i++) rc[i] = (long)libs[i].gzfread(got[i], item, len / item, f[i]);
        filled = rc[0] > 0 ? (size_t)rc[0] * item : 0;
        what = "gzfread";
        break;
      }
      case 9:
        for (int i = 0; i < 2; i++) libs[i].gzclearerr(f[i]), rc[i] = 0;
        what = "gzclearerr";
        break;
      case 10:
        for (int i = 0; i < 2; i++)
          rc[i] = libs[i].gzwrite(f[i], got[i], 1) + 10 * libs[i].gzputc(f[i], 1) + 100 * libs[i].gzflush(f[i], 1);
        what = "writing while reading";
        break;
      default:
        for (int i = 0; i < 2; i++) rc[i] = libs[i].gzread(f[i], got[i], (unsigned)len);
        filled = rc[0] > 0 ? (size_t)rc[0] : 0;
        break;
    }
    started = started || filled;
    both(what, rc[0], rc[1]);
    if (memcmp(got[0], got[1], filled)) differ("files: bytes read", "%s of %zu", what, filled);
    state(f, what);
  }
  now.op = operations;
  both("gzclose", libs[0].gzclose(f[0]), libs[1].gzclose(f[1]));
}

void file_sequence(void) {
  struct rng r = rng_of(now.seed, -1);
  tally("sequences: files");
  if (one_in(&r, 2)) written(&r);
  else read_file(&r);
}
