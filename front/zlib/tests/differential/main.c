/* differential [OPTION...] OURS: random sequences of zlib calls on OURS and on the reference.

     --stock PATH    the reference (default: Debian's zlib)
     --seed N        the first sequence (default 1)
     --count N       how many sequences (default 1000000)
     --seconds N     stop after that time
     --workers N     processes (default 2)
     --only KIND     sequences of one kind: deflate bound inflate back whole checksum memory files
     --skip MASK     leaves out operations, bit by bit (of one sequence: what a difference prints)
     --strict        remarks are differences too
     --verbose       prints every operation

   Exit status 1 if anything differed. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "differential.h"

enum { EXAMPLES = 3, KINDS = 160, TALLIES = 200, PROCESSES = 16, HANG_SECONDS = 30 };

struct example {
  uint64_t seed, skip;
  char text[400];
};

struct kind {
  char name[80];
  unsigned long count;
  int remark;
  struct example examples[EXAMPLES];
};

struct tallied {
  char name[48];
  unsigned long count;
};

/* What a worker found, in memory shared with its parent, which reads it also after a crash. */
struct board {
  volatile uint64_t seed;
  volatile int op;
  volatile unsigned long done;
  struct kind kinds[KINDS];
  struct tallied tallies[TALLIES];
};

static struct board *board;
static uint64_t first_seed = 1, count = 1000000, skip_mask;
static unsigned workers = 2;
static int strict, verbose;
static long seconds;
static const char *only;
static double deadline;

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct sequence now;

static const struct {
  const char *name;
  void (*run)(void);
  unsigned weight;
} SEQUENCES[] = {
    {"deflate", deflate_sequence, 30}, {"bound", bound_sequence, 12},
    {"inflate", inflate_sequence, 40}, {"back", back_sequence, 6},
    {"whole", whole_sequence, 10},     {"checksum", checksum_sequence, 8},
    {"memory", memory_sequence, 6},    {"files", file_sequence, 4},
};

int operation(int i, struct rng *r) {
  if (i >= now.operations || (now.skip >> i & 1)) return 0;
  now.op = board->op = i;
  *r = rng_of(now.seed, i);
  return 1;
}

static struct kind *kind_of(const char *name) {
  for (int i = 0; i < KINDS; i++) {
    struct kind *k = &board->kinds[i];
    if (!k->name[0]) snprintf(k->name, sizeof k->name, "%s", name);
    if (!strncmp(k->name, name, sizeof k->name - 1)) return k;
  }
  return &board->kinds[KINDS - 1];
}

static void record(struct kind *k, const char *format, va_list args) {
  if (k->count < EXAMPLES) {
    struct example *e = &k->examples[k->count];
    e->seed = now.seed, e->skip = now.skip;
    int n = snprintf(e->text, sizeof e->text, "operation %d: ", now.op);
    vsnprintf(e->text + n, sizeof e->text - (size_t)n, format, args);
    if (now.verbose) printf("  %s %s: %s\n", k->remark ? "REMARK" : "DIFFERENCE", k->name, e->text);
  }
  k->count++;
}

static const char *found;

void differ(const char *kind, const char *format, ...) {
  va_list args;
  va_start(args, format);
  record(kind_of(kind), format, args);
  va_end(args);
  found = kind;
  longjmp(now.out, 1);
}

void remark(const char *kind, const char *format, ...) {
  va_list args;
  struct kind *k = kind_of(kind);
  k->remark = !strict;
  va_start(args, format);
  record(k, format, args);
  va_end(args);
  if (strict) {
    found = kind;
    longjmp(now.out, 1);
  }
}

void note(const char *format, ...) {
  if (!now.verbose) return;
  va_list args;
  va_start(args, format);
  printf("  %2d ", now.op);
  vprintf(format, args);
  printf("\n");
  fflush(stdout);
  va_end(args);
}

void tally(const char *what) {
  for (int i = 0; i < TALLIES; i++) {
    struct tallied *t = &board->tallies[i];
    if (!t->name[0]) snprintf(t->name, sizeof t->name, "%s", what);
    if (!strcmp(t->name, what)) {
      t->count++;
      return;
    }
  }
}

static void **held;
static size_t held_count, held_cap;

void *hold(size_t len) {
  if (held_count == held_cap) {
    held_cap = held_cap * 2 + 64;
    held = realloc(held, held_cap * sizeof *held);
    if (!held) abort();
  }
  void *at = malloc(len ? len : 1);
  if (!at) abort();
  return held[held_count++] = at;
}

/* Runs one sequence; the kind of the difference that it found. */
static const char *run(uint64_t seed, uint64_t skip, int operations) {
  now.seed = seed, now.skip = skip, now.operations = operations, now.op = -1;
  board->op = -1;
  found = NULL;
  if (!setjmp(now.out)) {
    struct rng r = rng_of(seed, -2);
    unsigned total = 0, i = 0;
    for (unsigned k = 0; k < LENGTH(SEQUENCES); k++) total += SEQUENCES[k].weight;
    unsigned at = below(&r, total);
    while (at >= SEQUENCES[i].weight) at -= SEQUENCES[i++].weight;
    for (unsigned k = 0; only && k < LENGTH(SEQUENCES); k++)
      if (!strcmp(only, SEQUENCES[k].name)) i = k;
    note("%s, seed %llu", SEQUENCES[i].name, (unsigned long long)seed);
    SEQUENCES[i].run();
  }
  while (held_count) free(held[--held_count]);
  return found;
}

/* Leaves out what the difference does not need; the last example of the kind says it. */
static void shrink(uint64_t seed, const char *kind) {
  struct kind *k = kind_of(kind);
  struct example *e = &k->examples[k->count - 1];
  int last = now.op;
  uint64_t skip = now.skip;
  for (int i = last - 1; i >= 0; i--) {
    struct board saved = *board;
    k->count--;
    const char *again = run(seed, skip | 1ull << i, last + 1);
    struct example less = *e;
    *board = saved;
    if (again && !strcmp(again, kind)) *e = less, skip |= 1ull << i;
  }
  e->skip = skip;
}

static void work(uint64_t from) {
  for (uint64_t i = from; i < count; i += workers) {
    board->seed = first_seed + i;
    const char *kind = run(first_seed + i, skip_mask, OPERATIONS);
    board->done++;
    if (kind && kind_of(kind)->count <= EXAMPLES && !verbose) shrink(first_seed + i, kind);
    if (seconds && seconds_now() >= deadline) break;
  }
}

static pid_t start(struct board *its, uint64_t from) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  board = its;
  work(from);
  fflush(stdout);
  _exit(0);
}

static void crashed(struct board *its, int status) {
  char name[80];
  board = its;
  now.seed = its->seed, now.op = its->op, now.skip = skip_mask;
  if (WIFSIGNALED(status)) snprintf(name, sizeof name, "died: %s", strsignal(WTERMSIG(status)));
  else snprintf(name, sizeof name, "ended with status %d", WEXITSTATUS(status));
  struct kind *k = kind_of(name);
  if (k->count < EXAMPLES) {
    k->examples[k->count].seed = its->seed;
    k->examples[k->count].skip = skip_mask;
    snprintf(k->examples[k->count].text, sizeof k->examples->text, "in operation %d", its->op);
  }
  k->count++;
}

/* Adds what worker `from` found to `to`. */
static void merge(struct board *to, const struct board *from) {
  board = to;
  to->done += from->done;
  for (int i = 0; i < KINDS && from->kinds[i].name[0]; i++) {
    struct kind *k = kind_of(from->kinds[i].name);
    k->remark = from->kinds[i].remark;
    for (unsigned n = 0; n < EXAMPLES && n < from->kinds[i].count; n++)
      if (k->count + n < EXAMPLES) k->examples[k->count + n] = from->kinds[i].examples[n];
    k->count += from->kinds[i].count;
  }
  for (int i = 0; i < TALLIES && from->tallies[i].name[0]; i++) {
    int n = 0;
    while (to->tallies[n].name[0] && strcmp(to->tallies[n].name, from->tallies[i].name)) n++;
    memcpy(to->tallies[n].name, from->tallies[i].name, sizeof to->tallies[n].name);
    to->tallies[n].count += from->tallies[i].count;
  }
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct tallied *)a)->name, ((const struct tallied *)b)->name);
}

static int summary(struct board *all, double took) {
  int tallies = 0, failed = 0;
  while (all->tallies[tallies].name[0]) tallies++;
  qsort(all->tallies, (size_t)tallies, sizeof all->tallies[0], by_name);
  printf("\nreached:");
  for (int i = 0; i < tallies; i++)
    printf("%s %s %lu", i ? "," : "", all->tallies[i].name, all->tallies[i].count);
  printf("\n");
  for (int differences = 0; differences < 2; differences++) {
    for (int i = 0; i < KINDS && all->kinds[i].name[0]; i++) {
      struct kind *k = &all->kinds[i];
      if (k->remark == differences) continue;
      failed += !k->remark;
      printf("\n%s %s: %lu times\n", k->remark ? "REMARK" : "DIFFERENCE", k->name, k->count);
      for (unsigned n = 0; n < EXAMPLES && n < k->count; n++)
        printf("  --verbose --seed %llu --skip 0x%llx%s%s\n    %s\n",
               (unsigned long long)k->examples[n].seed, (unsigned long long)k->examples[n].skip,
               only ? " --only " : "", only ? only : "", k->examples[n].text);
    }
  }
  printf("\n%lu sequences in %.0f s, %d kinds of difference\n", all->done, took, failed);
  return failed != 0;
}

int main(int argc, char **argv) {
  const char *ours = NULL, *stock = "/lib/x86_64-linux-gnu/libz.so.1";
  int counted = 0, seeded = 0;
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (!strcmp(name, "--verbose")) { verbose = 1; continue; }
    if (!strcmp(name, "--strict")) { strict = 1; continue; }
    if (name[0] != '-') { ours = name; continue; }
    if (++i == argc) { ours = NULL; break; }
    if (!strcmp(name, "--stock")) stock = argv[i];
    else if (!strcmp(name, "--seed")) first_seed = strtoull(argv[i], NULL, 0), seeded = 1;
    else if (!strcmp(name, "--count")) count = strtoull(argv[i], NULL, 0), counted = 1;
    else if (!strcmp(name, "--seconds")) seconds = atol(argv[i]);
    else if (!strcmp(name, "--workers")) workers = (unsigned)atoi(argv[i]);
    else if (!strcmp(name, "--skip")) skip_mask = strtoull(argv[i], NULL, 0);
    else if (!strcmp(name, "--only")) only = argv[i];
    else { ours = NULL; break; }
  }
  if (!ours || !workers || workers > PROCESSES) {
    fprintf(stderr, "usage: differential [OPTION...] OURS (the options are in main.c)\n");
    return 2;
  }
  if (verbose && seeded && !counted) count = 1;
  if (seconds && !counted) count = UINT64_MAX / 2;
  /* What the library does in parallel, it does from its least threshold on. */
  setenv("LOOKASIDE_THRESHOLD", "131072", 0);
  setenv("LOOKASIDE_ENGINES", "2", 0);
  load(&libs[STOCK], stock);
  load(&libs[OURS], ours);
  printf("%s (%s) beside %s (%s), from seed %llu\n", ours, libs[OURS].zlibVersion(), stock,
         libs[STOCK].zlibVersion(), (unsigned long long)first_seed);
  struct board *boards = mmap(NULL, (PROCESSES + 1) * sizeof *boards, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (boards == MAP_FAILED) return 2;
  double begin = seconds_now();
  deadline = begin + (double)seconds;
  now.verbose = verbose;
  if (verbose) {
    board = &boards[PROCESSES];
    work(0);
    return summary(board, seconds_now() - begin);
  }
  pid_t pids[PROCESSES];
  uint64_t seen[PROCESSES];
  double since[PROCESSES];
  unsigned running = workers;
  for (unsigned w = 0; w < workers; w++) {
    pids[w] = start(&boards[w], w);
    seen[w] = 0, since[w] = begin;
  }
  while (running) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    for (unsigned w = 0; pid > 0 && w < workers; w++) {
      if (pids[w] != pid) continue;
      pids[w] = -1, running--;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      crashed(&boards[w], status);
      if (!seconds || seconds_now() < deadline) {
        pids[w] = start(&boards[w], boards[w].seed - first_seed + workers);
        running++, since[w] = seconds_now();
      }
    }
    if (pid > 0) continue;
    usleep(20000);
    for (unsigned w = 0; w < workers; w++) {
      if (boards[w].seed != seen[w]) seen[w] = boards[w].seed, since[w] = seconds_now();
      else if (pids[w] > 0 && seconds_now() - since[w] > HANG_SECONDS) kill(pids[w], SIGXCPU);
    }
  }
  for (unsigned w = 0; w < workers; w++) merge(&boards[PROCESSES], &boards[w]);
  return summary(&boards[PROCESSES], seconds_now() - begin);
}
