/* Loading a library, guarded memory, allocators. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "differential.h"

struct lib libs[2];
const char *const side_names[2] = {"stock", "ours"};

void load(struct lib *lib, const char *path) {
  void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!found) {
    fprintf(stderr, "differential: %s\n", dlerror());
    exit(2);
  }
  lib->name = path;
#define LOAD(f)                                                    \
  lib->f = (__typeof__(lib->f))dlsym(found, #f);                   \
  if (!lib->f) {                                                   \
    fprintf(stderr, "differential: no %s in %s\n", #f, path);      \
    exit(2);                                                       \
  }
  FUNCTIONS(LOAD)
#undef LOAD
}

/* Two places that end at a page nobody may touch. */
static unsigned char *guarded(int which) {
  static unsigned char *ends[2];
  if (!ends[which]) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *at = mmap(NULL, GUARDED + page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + GUARDED, page, PROT_NONE)) abort();
    ends[which] = at + GUARDED;
  }
  return ends[which];
}

const unsigned char *guard_input(const unsigned char *from, size_t len) {
  if (len > GUARDED) return from;
  unsigned char *at = guarded(0) - len;
  memcpy(at, from, len);
  return at;
}

unsigned char *guard_output(size_t len) {
  static unsigned char *large;
  static size_t cap;
  if (len <= GUARDED) return guarded(1) - len;
  if (len > cap) {
    free(large);
    cap = len + len / 2;
    large = malloc(cap);
    if (!large) abort();
  }
  return large;
}

voidpf counted_alloc(voidpf opaque, uInt items, uInt size) {
  struct allocator *a = opaque;
  a->calls++;
  if (a->calls == a->fail_at) return NULL;
  unsigned char *at = malloc((size_t)items * size + 32);
  if (!at) abort();
  memcpy(at, &opaque, sizeof opaque);
  /* Whoever relies on zeros finds out. */
  memset(at + 16, 0xa5, (size_t)items * size);
  a->live++;
  return at + 16;
}

void counted_free(voidpf opaque, voidpf address) {
  struct allocator *a = opaque;
  unsigned char *at = (unsigned char *)address - 16;
  if (memcmp(at, &opaque, sizeof opaque)) a->foreign++;
  memset(at, 0, 16);
  a->live--;
  free(at);
}
