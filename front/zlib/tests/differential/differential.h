/* The same random sequences of zlib calls on two libraries in one process, and what has to agree.

   main.c starts worker processes and prints what they found; lib.c loads the libraries; random.c
   makes data; deflate.c, inflate.c, back.c, whole.c, memory.c and files.c hold the sequences.

   A sequence is a seed: its set-up and each of its operations draw from generators of their own, so
   that an operation can be left out and all others stay what they are. */
#ifndef DIFFERENTIAL_H
#define DIFFERENTIAL_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>
#undef gzgetc

/* Random numbers. */

struct rng {
  uint64_t state;
};

uint64_t draw(struct rng *r);
/* A number below `n`; 0 for 0. */
uint32_t below(struct rng *r, uint32_t n);
/* Between both, inclusive. */
int between(struct rng *r, int low, int high);
int one_in(struct rng *r, uint32_t n);
/* The generator of operation `op` of a sequence; set-up has -1. */
struct rng rng_of(uint64_t seed, int op);

/* Data: mostly small, now and then more than what the library serves in parallel. */
struct bytes {
  unsigned char *at;
  size_t len;
};

/* Compressible and incompressible data of one of several kinds. */
void fill(struct rng *r, unsigned char *at, size_t len);
/* New data (freed at the end of the sequence). */
struct bytes make_data(struct rng *r, size_t len);
/* A length with many small ones. */
size_t make_length(struct rng *r);
/* A level: of much data none that takes seconds in the reference. */
int make_level(struct rng *r, size_t len);

/* The libraries. */

#define FUNCTIONS(F)                                                                               \
  F(adler32) F(adler32_combine) F(adler32_combine64) F(adler32_z) F(compress) F(compress2)          \
  F(compressBound) F(crc32) F(crc32_combine) F(crc32_combine64) F(crc32_combine_gen)                \
  F(crc32_combine_gen64) F(crc32_combine_op) F(crc32_z) F(deflate) F(deflateBound) F(deflateCopy)   \
  F(deflateEnd) F(deflateGetDictionary) F(deflateInit2_) F(deflateInit_) F(deflateParams)           \
  F(deflatePending) F(deflatePrime) F(deflateReset) F(deflateResetKeep) F(deflateSetDictionary)     \
  F(deflateSetHeader) F(deflateTune) F(get_crc_table) F(gzbuffer) F(gzclearerr) F(gzclose)          \
  F(gzclose_r) F(gzclose_w) F(gzdirect) F(gzdopen) F(gzeof) F(gzerror) F(gzflush) F(gzfread)        \
  F(gzfwrite) F(gzgetc) F(gzgetc_) F(gzgets) F(gzoffset) F(gzopen) F(gzprintf) F(gzputc) F(gzputs)  \
  F(gzread) F(gzrewind) F(gzseek) F(gzsetparams) F(gztell) F(gzungetc) F(gzwrite) F(inflate)        \
  F(inflateBack) F(inflateBackEnd) F(inflateBackInit_) F(inflateCodesUsed) F(inflateCopy)           \
  F(inflateEnd) F(inflateGetDictionary) F(inflateGetHeader) F(inflateInit2_) F(inflateInit_)        \
  F(inflateMark) F(inflatePrime) F(inflateReset) F(inflateReset2) F(inflateResetKeep)               \
  F(inflateSetDictionary) F(inflateSync) F(inflateSyncPoint) F(inflateUndermine)                    \
  F(inflateValidate) F(uncompress) F(uncompress2) F(zError) F(zlibCompileFlags) F(zlibVersion)

struct lib {
  const char *name;
#define MEMBER(f) __typeof__(&f) f;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

enum { STOCK, OURS };
/* The reference, and the one under test. */
extern struct lib libs[2];
extern const char *const side_names[2];
void load(struct lib *lib, const char *path);

/* One sequence at a time. */

enum { OPERATIONS = 40 };

struct sequence {
  uint64_t seed;
  /* The operation now running, from 0; -1 is the set-up. */
  int op;
  int operations;
  /* Bit i: operation i is left out. */
  uint64_t skip;
  int verbose;
  /* Where a difference leaves the sequence to. */
  jmp_buf out;
};
extern struct sequence now;

/* Whether operation `i` runs; its generator in `r`. */
int operation(int i, struct rng *r);

/* A difference: counted by `kind`, with the first details; does not return. */
_Noreturn void differ(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What zlib.h leaves open, but programs may see: counted, reported, no failure. */
void remark(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For --verbose. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* How often something came to pass: the summary shows that the sequences reach it. */
void tally(const char *what);

/* Memory that the end of the sequence frees, however it ends. */
void *hold(size_t len);

/* `len` bytes that end at a page nobody may touch: input copied there, or room for output. There
   is one such place of each kind, so pointers of earlier calls are wrong by then. Above
   GUARDED bytes: ordinary memory. */
enum { GUARDED = 1 << 16 };
const unsigned char *guard_input(const unsigned char *from, size_t len);
unsigned char *guard_output(size_t len);

/* A stream with this wrapper (-1: any), by the reference or of blocks of our own; in `dict` the dictionary that it needs
   (length 0: none), in `plain` what is in it. The wrapper is 0 (raw), 1 (zlib) or 2 (gzip). */
struct made {
  struct bytes stream, plain, dict;
  int wrap, bits;
};
void make_stream(struct rng *r, struct made *m, int wrap);
/* Cuts it, flips bits, appends; or leaves it alone. */
void mutate(struct rng *r, struct made *m);

/* An allocator that counts, and fails at the n-th call. */
struct allocator {
  long live, calls, fail_at;
  int foreign;
};
voidpf counted_alloc(voidpf opaque, uInt items, uInt size);
void counted_free(voidpf opaque, voidpf address);

/* The kinds of sequences. */
void deflate_sequence(void);
void bound_sequence(void);
void inflate_sequence(void);
void back_sequence(void);
void whole_sequence(void);
void checksum_sequence(void);
void memory_sequence(void);
void file_sequence(void);

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#endif
