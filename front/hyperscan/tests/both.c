/* Each function of Hyperscan's interface with the system's library and with ours, in one process: `both OURS STOCK`.

   Every call is made on both sides with arguments that are equal (or equally wrong), and what it returns, writes and
   reports is compared: error codes, messages, what pointers are set to, matches with their order by end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hs/hs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X) \
  X(hs_compile) X(hs_compile_multi) X(hs_compile_ext_multi) X(hs_compile_lit) X(hs_compile_lit_multi) \
  X(hs_free_compile_error) X(hs_free_database) X(hs_scan) X(hs_scan_vector) X(hs_open_stream) X(hs_scan_stream) \
  X(hs_close_stream) X(hs_reset_stream) X(hs_copy_stream) X(hs_reset_and_copy_stream) X(hs_compress_stream) \
  X(hs_expand_stream) X(hs_reset_and_expand_stream) X(hs_serialize_database) X(hs_deserialize_database) \
  X(hs_deserialize_database_at) X(hs_serialized_database_size) X(hs_serialized_database_info) X(hs_database_size) \
  X(hs_database_info) X(hs_stream_size) X(hs_alloc_scratch) X(hs_clone_scratch) X(hs_scratch_size) \
  X(hs_free_scratch) X(hs_expression_info) X(hs_expression_ext_info) X(hs_populate_platform) X(hs_valid_platform) \
  X(hs_version) X(hs_set_allocator) X(hs_set_database_allocator) X(hs_set_misc_allocator) \
  X(hs_set_scratch_allocator) X(hs_set_stream_allocator)

/* One library: its functions, and what the checks wrote down. */
struct side {
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
  char *log;
  size_t len;
  FILE *out;
};

static struct side sides[2];

static void load(struct side *side, const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library) {
    fprintf(stderr, "both: %s\n", dlerror());
    exit(2);
  }
#define LOAD(name) \
  if (!(side->name = (__typeof__(&name))dlsym(library, #name))) { \
    fprintf(stderr, "both: %s has no %s\n", path, #name); \
    exit(2); \
  }
  FUNCTIONS(LOAD)
  side->out = open_memstream(&side->log, &side->len);
}

static void say(struct side *s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(s->out, format, arguments);
  va_end(arguments);
}

#define CALL(call) say(s, "%s: %d\n", #call, (int)(call))

/* Matches of one call, written in the order of end, id, start: the order of equal ends is not promised. Stock reports
   some matches before a newline twice where a stream ends with it; here each counts once. */
struct matches {
  struct { unsigned long long to, from; unsigned id; } all[4096];
  size_t count, stop_after;
};

static struct matches found;

/* Padding is zeros, since matches are compared as bytes. */
static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *pointer) {
  struct matches *m = pointer;
  if (flags)
    abort();
  if (m->count < 4096) {
    m->all[m->count].to = to;
    m->all[m->count].from = from;
    m->all[m->count].id = id;
  }
  m->count++;
  return m->stop_after && m->count >= m->stop_after;
}

static int by_end(const void *a, const void *b) { return memcmp(a, b, sizeof found.all[0]); }

static void say_matches(struct side *s, const char *what) {
  for (size_t i = 0; i < found.count && i < 4096; i++) {
    found.all[i].to = __builtin_bswap64(found.all[i].to);
    found.all[i].id = __builtin_bswap32(found.all[i].id);
  }
  qsort(found.all, found.count < 4096 ? found.count : 4096, sizeof found.all[0], by_end);
  say(s, "%s:", what);
  for (size_t i = 0; i < found.count && i < 4096; i++)
    if (!i || memcmp(&found.all[i], &found.all[i - 1], sizeof found.all[0]))
      say(s, " %u:%lld-%llu", __builtin_bswap32(found.all[i].id), (long long)found.all[i].from,
          __builtin_bswap64(found.all[i].to));
  say(s, "\n");
  found.count = 0;
}

static void say_error(struct side *s, hs_compile_error_t **error) {
  if (*error)
    say(s, "  %d: %s\n", (*error)->expression, (*error)->message);
  CALL(s->hs_free_compile_error(*error));
  *error = NULL;
}

/* What the calls that compile say of their arguments. */
static void arguments(struct side *s) {
  hs_database_t *db = (void *)1;
  hs_compile_error_t *error = NULL;
  hs_platform_info_t platform, wrong = {0, 1, 0, 0}, tuned = {11, 0, 0, 0};
  const char *two[] = {"abc", "def"};
  size_t lens[] = {3, 3};
  unsigned flags[] = {0, 0}, ids[] = {1, 2};
  static const unsigned modes[] = {0, 3, 5, 7, 8, 16, 1 << 24, 1 | 1 << 24, 4 | 1 << 25, 2 | 3 << 24, 2 | 7 << 24, ~0u};
  CALL(s->hs_valid_platform());
  CALL(s->hs_populate_platform(NULL));
  CALL(s->hs_populate_platform(&platform));
  say(s, "%.5s\n", s->hs_version());
  CALL(s->hs_compile(NULL, 0, HS_MODE_BLOCK, NULL, &db, &error));
  say(s, "%p\n", (void *)db), say_error(s, &error);
  CALL(s->hs_compile("abc", 0, HS_MODE_BLOCK, NULL, NULL, &error)), say_error(s, &error);
  db = (void *)1;
  CALL(s->hs_compile("abc", 0, HS_MODE_BLOCK, NULL, &db, NULL)), say(s, "%p\n", (void *)db);
  CALL(s->hs_compile("abc", 0, HS_MODE_BLOCK, &wrong, &db, &error)), say_error(s, &error);
  CALL(s->hs_compile("abc", 0, HS_MODE_BLOCK, &tuned, &db, &error)), say_error(s, &error);
  CALL(s->hs_compile_multi(NULL, flags, ids, 2, HS_MODE_BLOCK, NULL, &db, &error)), say_error(s, &error);
  CALL(s->hs_compile_multi(two, flags, ids, 0, HS_MODE_BLOCK, NULL, &db, &error)), say_error(s, &error);
  CALL(s->hs_compile_multi(two, flags, ids, 2, HS_MODE_BLOCK, NULL, NULL, &error)), say_error(s, &error);
  CALL(s->hs_compile_lit(NULL, 0, 3, HS_MODE_BLOCK, NULL, &db, &error)), say_error(s, &error);
  CALL(s->hs_compile_lit_multi(two, flags, ids, NULL, 2, HS_MODE_BLOCK, NULL, &db, &error)), say_error(s, &error);
  CALL(s->hs_compile_lit_multi(NULL, flags, ids, lens, 2, HS_MODE_BLOCK, NULL, &db, &error)), say_error(s, &error);
  CALL(s->hs_compile_lit_multi(two, flags, ids, lens, 0, HS_MODE_BLOCK, NULL, &db, &error)), say_error(s, &error);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    CALL(s->hs_compile("abc", 0, modes[i], NULL, &db, &error)), say_error(s, &error);
  }
  /* Flags that cannot be used together, or are none. */
  for (unsigned bits = 0; bits < 4096; bits += bits < 2048 ? 1 : 2048) {
    /* A combination that is quiet does nothing, and stock does not look at it. */
    if (bits & HS_FLAG_COMBINATION && bits & HS_FLAG_QUIET)
      continue;
    hs_error_t e = s->hs_compile("abc", bits, HS_MODE_BLOCK, NULL, &db, &error);
    say(s, "flags %u: %d %s\n", bits, e, error ? error->message : "");
    s->hs_free_compile_error(error), s->hs_free_database(db);
    error = NULL, db = NULL;
    e = s->hs_compile_lit("abc", bits, 3, HS_MODE_BLOCK, NULL, &db, &error);
    say(s, "literal, flags %u: %d %s\n", bits, e, error ? error->message : "");
    s->hs_free_compile_error(error), s->hs_free_database(db);
    error = NULL, db = NULL;
  }
  CALL(s->hs_compile("abc", HS_FLAG_SOM_LEFTMOST, HS_MODE_STREAM, NULL, &db, &error)), say_error(s, &error);
  CALL(s->hs_free_compile_error(NULL));
  CALL(s->hs_free_database(NULL));
}

static const struct { const char *text; unsigned flags; } REFUSED[] = {
  {"a(", 0}, {"a)", 0}, {"[a", 0}, {"a**", 0}, {"*a", 0}, {"a{3,2}", 0}, {"a?", 0}, {"a*|b", 0}, {"(?=a)b", 0},
  {"(a)\\1", 0}, {"(?>a)", 0}, {"a++", 0}, {"(a)(?(1)a)", 0}, {"\\Xa", 0}, {"\\Ra", 0}, {"\\Ga", 0},
  {"\\Ka", 0}, {"a\\", 0}, {"[z-a]", 0}, {"[[:foo:]]", 0}, {"\\p{Foo}", HS_FLAG_UTF8}, {"\xff", HS_FLAG_UTF8},
  {"a{40000}", 0}, {"(*UTF16)a", 0}, {"(*FOO)a", 0}, {"\\c\xff", 0}, {"\\x{zz}", 0}, {"(?P<1>a)", 0}, {"(?C)a", 0},
  {"1 & ", HS_FLAG_COMBINATION}, {"(1", HS_FLAG_COMBINATION}, {"1 & 2", HS_FLAG_COMBINATION},
  {"1 2", HS_FLAG_COMBINATION}, {"x", HS_FLAG_COMBINATION},
};

/* Expressions that both refuse, and conditions. */
static void refusals(struct side *s) {
  hs_database_t *db = NULL;
  hs_compile_error_t *error = NULL;
  hs_expr_info_t *info = NULL;
  for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
    say(s, "%s\n", REFUSED[i].text);
    CALL(s->hs_compile(REFUSED[i].text, REFUSED[i].flags, HS_MODE_BLOCK, NULL, &db, &error)), say_error(s, &error);
    if (REFUSED[i].flags & HS_FLAG_COMBINATION)
      continue;
    hs_error_t e = s->hs_expression_info(REFUSED[i].text, REFUSED[i].flags, &info, &error);
    say(s, "info: %d\n", e), say_error(s, &error);
    free(info), info = NULL;
  }
  CALL(s->hs_expression_info("a", 0, NULL, &error)), say_error(s, &error);
  CALL(s->hs_expression_info(NULL, 0, &info, &error)), say_error(s, &error);
  CALL(s->hs_expression_info("a", 0, &info, NULL));
  CALL(s->hs_expression_ext_info("a", 0, NULL, NULL, &error)), say_error(s, &error);
  static const hs_expr_ext_t conditions[] = {
    {32, 0, 0, 0, 0, 0}, {3, 5, 4, 0, 0, 0}, {6, 0, 4, 5, 0, 0}, {24, 0, 0, 0, 1, 1}, {2, 0, 2, 0, 0, 0},
    {4, 0, 0, 9, 0, 0}, {1, 5, 0, 0, 0, 0}, {2, 0, 9, 0, 0, 0}, {7, 2, 90, 3, 0, 0},
  };
  static const char *const texts[] = {"foo", "^foo", "foo.*bar", "foo|ba+r$"};
  for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
    for (size_t t = 0; t < 4; t++) {
      const hs_expr_ext_t *extended[] = {&conditions[i]};
      hs_error_t e = s->hs_compile_ext_multi(&texts[t], NULL, NULL, extended, 1, HS_MODE_BLOCK, NULL, &db, &error);
      say(s, "%s, condition %zu: %d\n", texts[t], i, e), say_error(s, &error);
      s->hs_free_database(db), db = NULL;
      e = s->hs_expression_ext_info(texts[t], 0, extended[0], &info, &error);
      say(s, "  info %d", e), say_error(s, &error);
      if (info)
        say(s, " %u %u %d %d %d\n", info->min_width, info->max_width, info->unordered_matches, info->matches_at_eod,
            info->matches_only_at_eod);
      free(info), info = NULL;
    }
}

static const char *const SET[] = {
  "abc", "a.c", "foo.*bar", "^start", "end$", "end\\z", "[0-9]{2,4}", "(?i)hello", "x+y", "b[^\\n]{1,5}d", "foo|bar|baz",
  "\\bword\\b", "c{3}", "q(ab|cd)*r", "same",
};
enum { PATTERNS = sizeof SET / sizeof *SET };

static const char *const TEXTS[] = {
  "start abc axc foo and bar 1234 HeLLo xxy b---d word words qabcdabr ccccc same end",
  "end\n", "start", "", "a", "abcabcabc foo\nbar foobarbar", "123456789 hello\nhello end\nend", "sameabcsame word",
};

static hs_database_t *compile(struct side *s, unsigned mode, unsigned all_flags) {
  hs_database_t *db = NULL;
  hs_compile_error_t *error = NULL;
  unsigned flags[PATTERNS], ids[PATTERNS];
  for (unsigned i = 0; i < PATTERNS; i++)
    flags[i] = all_flags, ids[i] = 100 + i;
  hs_error_t e = s->hs_compile_multi(SET, flags, ids, PATTERNS, mode, NULL, &db, &error);
  say(s, "compile, mode %u, flags %u: %d\n", mode, all_flags, e);
  say_error(s, &error);
  return db;
}

/* All three modes, with and without starts, each text in pieces of every size. */
static void scans(struct side *s) {
  for (unsigned f = 0; f < 4; f++) {
    unsigned flags = (f & 1 ? HS_FLAG_SOM_LEFTMOST : 0) | (f & 2 ? HS_FLAG_MULTILINE | HS_FLAG_DOTALL : 0);
    hs_database_t *block = compile(s, HS_MODE_BLOCK, flags), *vectored = compile(s, HS_MODE_VECTORED, flags);
    hs_database_t *stream = compile(s, HS_MODE_STREAM | HS_MODE_SOM_HORIZON_LARGE, flags);
    hs_scratch_t *scratch = NULL;
    CALL(s->hs_alloc_scratch(block, &scratch));
    CALL(s->hs_alloc_scratch(vectored, &scratch));
    CALL(s->hs_alloc_scratch(stream, &scratch));
    for (size_t t = 0; t < sizeof TEXTS / sizeof *TEXTS; t++) {
      const char *text = TEXTS[t];
      unsigned length = strlen(text);
      CALL(s->hs_scan(block, text, length, 0, scratch, on_match, &found));
      say_matches(s, "block");
      found.stop_after = 2;
      hs_error_t e = s->hs_scan(block, text, length, 0, scratch, on_match, &found);
      say(s, "stopped: %d after %zu\n", e, found.count);
      found.stop_after = 0, found.count = 0;
      CALL(s->hs_scan(block, text, length, 0, scratch, NULL, NULL));
      for (unsigned piece = 1; piece <= length + 1; piece++) {
        const char *data[256];
        unsigned lengths[256], pieces = 0;
        hs_stream_t *id = NULL;
        s->hs_open_stream(stream, 0, &id);
        for (unsigned at = 0; at < length; at += piece, pieces++) {
          data[pieces] = text + at, lengths[pieces] = length - at < piece ? length - at : piece;
          e = s->hs_scan_stream(id, data[pieces], lengths[pieces], 0, scratch, on_match, &found);
          say(s, "%d ", e);
        }
        CALL(s->hs_close_stream(id, scratch, on_match, &found));
        say_matches(s, "stream");
        CALL(s->hs_scan_vector(vectored, data, lengths, pieces, 0, scratch, on_match, &found));
        say_matches(s, "vectored");
      }
    }
    CALL(s->hs_free_scratch(scratch));
    s->hs_free_database(block), s->hs_free_database(vectored), s->hs_free_database(stream);
  }
}

/* Patterns of one id have one match at an end: with the leftmost start, or none after the first. */
static void ids(struct side *s) {
  static const char *const texts[] = {"bc", "abc", "a.c", "x*bc", "c$", "b"};
  static const unsigned all_flags[] = {0, HS_FLAG_SOM_LEFTMOST, HS_FLAG_SINGLEMATCH, HS_FLAG_MULTILINE};
  for (unsigned mode = HS_MODE_BLOCK; mode <= HS_MODE_VECTORED; mode *= 2)
    for (int f = 0; f < 4; f++) {
      unsigned flags[6], numbers[] = {7, 7, 7, 7, 7, 8}, length = 11;
      const char *text = "abc abc\nabc";
      hs_database_t *db = NULL;
      hs_compile_error_t *error = NULL;
      hs_scratch_t *scratch = NULL;
      hs_stream_t *id = NULL;
      for (int i = 0; i < 6; i++)
        flags[i] = all_flags[f];
      unsigned horizon = mode == HS_MODE_STREAM ? HS_MODE_SOM_HORIZON_LARGE : 0;
      CALL(s->hs_compile_multi(texts, flags, numbers, 6, mode | horizon, NULL, &db, &error)), say_error(s, &error);
      CALL(s->hs_alloc_scratch(db, &scratch));
      if (mode == HS_MODE_BLOCK)
        s->hs_scan(db, text, length, 0, scratch, on_match, &found);
      if (mode == HS_MODE_VECTORED)
        s->hs_scan_vector(db, &text, &length, 1, 0, scratch, on_match, &found);
      if (mode == HS_MODE_STREAM) {
        s->hs_open_stream(db, 0, &id);
        s->hs_scan_stream(id, text, length, 0, scratch, on_match, &found);
        s->hs_close_stream(id, scratch, on_match, &found);
      }
      say(s, "mode %u, flags %u, %zu matches\n", mode, all_flags[f], found.count);
      say_matches(s, "ids");
      s->hs_free_scratch(scratch), s->hs_free_database(db);
    }
}

/* Streams: what is copied, compressed, expanded and reset goes on as it should. */
static void streams(struct side *s) {
  hs_database_t *db = compile(s, HS_MODE_STREAM, 0), *other = compile(s, HS_MODE_STREAM, HS_FLAG_CASELESS);
  hs_database_t *block = compile(s, HS_MODE_BLOCK, 0);
  hs_scratch_t *scratch = NULL;
  hs_stream_t *one = (void *)1, *two = NULL, *three = NULL;
  size_t size = 0, used = 0;
  CALL(s->hs_alloc_scratch(db, &scratch));
  CALL(s->hs_alloc_scratch(other, &scratch));
  CALL(s->hs_stream_size(NULL, &size)), CALL(s->hs_stream_size(db, NULL)), CALL(s->hs_stream_size(block, &size));
  CALL(s->hs_stream_size(db, &size));
  CALL(s->hs_open_stream(NULL, 0, &one)), say(s, "%p\n", (void *)one);
  CALL(s->hs_open_stream(block, 0, &one)), CALL(s->hs_open_stream(db, 0, NULL));
  CALL(s->hs_open_stream(db, 0, &one));
  CALL(s->hs_scan_stream(NULL, "a", 1, 0, scratch, on_match, &found));
  CALL(s->hs_scan_stream(one, NULL, 1, 0, scratch, on_match, &found));
  CALL(s->hs_scan_stream(one, "a", 1, 0, NULL, on_match, &found));
  CALL(s->hs_scan_stream(one, "fo", 2, 0, scratch, on_match, &found));
  CALL(s->hs_scan_stream(one, "", 0, 0, scratch, on_match, &found));
  CALL(s->hs_copy_stream(NULL, one)), CALL(s->hs_copy_stream(&two, NULL)), CALL(s->hs_copy_stream(&two, one));
  CALL(s->hs_scan_stream(one, "o bar", 5, 0, scratch, on_match, &found)), say_matches(s, "one");
  CALL(s->hs_scan_stream(two, "obar end", 8, 0, scratch, on_match, &found)), say_matches(s, "two");
  CALL(s->hs_compress_stream(NULL, NULL, 0, &used)), CALL(s->hs_compress_stream(two, NULL, 0, NULL));
  CALL(s->hs_compress_stream(two, NULL, 1, &used)), CALL(s->hs_compress_stream(two, NULL, 0, &used));
  char *buffer = malloc(used);
  CALL(s->hs_compress_stream(two, buffer, used - 1, &used)), CALL(s->hs_compress_stream(two, buffer, used, &used));
  say(s, "%d\n", used <= size);
  CALL(s->hs_expand_stream(NULL, &three, buffer, used)), CALL(s->hs_expand_stream(db, NULL, buffer, used));
  CALL(s->hs_expand_stream(db, &three, NULL, used)), CALL(s->hs_expand_stream(block, &three, buffer, used));
  CALL(s->hs_expand_stream(db, &three, buffer, used));
  CALL(s->hs_close_stream(three, scratch, on_match, &found)), say_matches(s, "expanded");
  CALL(s->hs_reset_and_copy_stream(NULL, one, scratch, on_match, &found));
  CALL(s->hs_reset_and_copy_stream(one, NULL, scratch, on_match, &found));
  CALL(s->hs_reset_and_copy_stream(one, one, scratch, on_match, &found));
  CALL(s->hs_reset_and_copy_stream(two, one, NULL, on_match, &found));
  CALL(s->hs_open_stream(other, 0, &three));
  CALL(s->hs_reset_and_copy_stream(three, one, scratch, on_match, &found));
  CALL(s->hs_close_stream(three, NULL, NULL, NULL));
  CALL(s->hs_reset_and_copy_stream(two, one, scratch, on_match, &found)), say_matches(s, "reset and copied");
  CALL(s->hs_scan_stream(two, " bar", 4, 0, scratch, on_match, &found)), say_matches(s, "two");
  CALL(s->hs_reset_and_expand_stream(NULL, buffer, used, scratch, on_match, &found));
  CALL(s->hs_reset_and_expand_stream(two, NULL, used, scratch, on_match, &found));
  CALL(s->hs_reset_and_expand_stream(two, buffer, used, NULL, on_match, &found));
  CALL(s->hs_reset_and_expand_stream(two, buffer, used, scratch, on_match, &found)), say_matches(s, "expanded");
  CALL(s->hs_reset_stream(NULL, 0, scratch, on_match, &found)), CALL(s->hs_reset_stream(two, 0, NULL, on_match, &found));
  CALL(s->hs_reset_stream(two, 0, scratch, on_match, &found)), say_matches(s, "reset");
  CALL(s->hs_scan_stream(two, "start", 5, 0, scratch, on_match, &found)), say_matches(s, "two");
  CALL(s->hs_reset_stream(two, 0, NULL, NULL, NULL));
  /* A stream that a callback has ended reports nothing more. */
  found.stop_after = 1;
  CALL(s->hs_scan_stream(two, "abcabc", 6, 0, scratch, on_match, &found)), say_matches(s, "stopped");
  found.stop_after = 0;
  CALL(s->hs_scan_stream(two, "abc end", 7, 0, scratch, on_match, &found)), say_matches(s, "after");
  CALL(s->hs_close_stream(NULL, scratch, on_match, &found)), CALL(s->hs_close_stream(two, NULL, on_match, &found));
  CALL(s->hs_close_stream(two, scratch, on_match, &found)), say_matches(s, "closed");
  CALL(s->hs_close_stream(one, NULL, NULL, NULL));
  free(buffer);
  s->hs_free_scratch(scratch), s->hs_free_database(db), s->hs_free_database(other), s->hs_free_database(block);
}

static struct side *inside;
static hs_database_t *inside_db;
static hs_scratch_t *inside_scratch;

static int nested(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *pointer) {
  (void)id, (void)from, (void)to, (void)flags, (void)pointer;
  struct side *s = inside;
  hs_scratch_t *again = inside_scratch, *clone = NULL;
  CALL(s->hs_scan(inside_db, "abc", 3, 0, inside_scratch, on_match, &found));
  CALL(s->hs_free_scratch(inside_scratch));
  CALL(s->hs_alloc_scratch(inside_db, &again));
  CALL(s->hs_clone_scratch(inside_scratch, &clone));
  CALL(s->hs_scan(inside_db, "abc", 3, 0, clone, on_match, &found)), say_matches(s, "nested");
  CALL(s->hs_free_scratch(clone));
  return 1;
}

/* Scratches, and what calls say of wrong arguments. */
static void scratches(struct side *s) {
  hs_database_t *db = compile(s, HS_MODE_BLOCK, 0), *vectored = compile(s, HS_MODE_VECTORED, 0);
  hs_scratch_t *scratch = NULL, *clone = NULL;
  size_t size = 0;
  const char *data[] = {"abc"}, *none[] = {NULL};
  unsigned lengths[] = {3};
  CALL(s->hs_alloc_scratch(NULL, &scratch)), CALL(s->hs_alloc_scratch(db, NULL));
  char *garbage = aligned_alloc(64, 1024);
  memset(garbage, 0x55, 1024);
  scratch = (hs_scratch_t *)garbage;
  CALL(s->hs_alloc_scratch(db, &scratch)), CALL(s->hs_free_scratch(scratch)), CALL(s->hs_scratch_size(scratch, &size));
  CALL(s->hs_clone_scratch(scratch, &clone));
  CALL(s->hs_scan(db, "a", 1, 0, scratch, on_match, &found));
  scratch = (hs_scratch_t *)(garbage + 8);
  CALL(s->hs_alloc_scratch(db, &scratch)), CALL(s->hs_free_scratch(scratch)), CALL(s->hs_scratch_size(scratch, &size));
  scratch = NULL;
  CALL(s->hs_alloc_scratch(db, &scratch)), CALL(s->hs_alloc_scratch(vectored, &scratch));
  CALL(s->hs_clone_scratch(NULL, &clone)), CALL(s->hs_clone_scratch(scratch, NULL));
  CALL(s->hs_scratch_size(NULL, &size)), CALL(s->hs_scratch_size(scratch, NULL)), CALL(s->hs_scratch_size(scratch, &size));
  CALL(s->hs_free_scratch(NULL));
  CALL(s->hs_scan(NULL, "abc", 3, 0, scratch, on_match, &found)), CALL(s->hs_scan(db, NULL, 3, 0, scratch, on_match, &found));
  CALL(s->hs_scan(db, "abc", 3, 0, NULL, on_match, &found)), CALL(s->hs_scan(vectored, "abc", 3, 0, scratch, on_match, &found));
  CALL(s->hs_scan((void *)garbage, "abc", 3, 0, scratch, on_match, &found));
  CALL(s->hs_scan_vector(db, data, lengths, 1, 0, scratch, on_match, &found));
  CALL(s->hs_scan_vector(vectored, NULL, lengths, 1, 0, scratch, on_match, &found));
  CALL(s->hs_scan_vector(vectored, data, NULL, 1, 0, scratch, on_match, &found));
  CALL(s->hs_scan_vector(vectored, none, lengths, 1, 0, scratch, on_match, &found));
  CALL(s->hs_scan_vector(vectored, data, lengths, 1, 0, NULL, on_match, &found));
  CALL(s->hs_scan_vector(vectored, data, lengths, 0, 0, scratch, on_match, &found));
  CALL(s->hs_scan_vector(vectored, data, lengths, 1, 0, scratch, on_match, &found)), say_matches(s, "vectored");
  inside = s, inside_db = db, inside_scratch = scratch;
  CALL(s->hs_scan(db, "abc", 3, 0, scratch, nested, NULL));
  CALL(s->hs_scan(db, "abc", 3, 0, scratch, on_match, &found)), say_matches(s, "after");
  CALL(s->hs_free_scratch(scratch)), CALL(s->hs_free_database(vectored)), CALL(s->hs_free_database((void *)garbage));
  s->hs_free_database(db);
  free(garbage);
}

/* Databases as bytes. */
static void databases(struct side *s) {
  static const unsigned modes[] = {HS_MODE_BLOCK, HS_MODE_STREAM, HS_MODE_VECTORED};
  for (size_t m = 0; m < 3; m++) {
    hs_database_t *db = compile(s, modes[m], 0), *back = NULL;
    char *bytes = NULL, *info = NULL;
    size_t length = 0, size = 0, again = 0;
    CALL(s->hs_serialize_database(NULL, &bytes, &length)), CALL(s->hs_serialize_database(db, NULL, &length));
    CALL(s->hs_serialize_database(db, &bytes, NULL)), CALL(s->hs_serialize_database((void *)((char *)db + 1), &bytes, &length));
    CALL(s->hs_serialize_database(db, &bytes, &length));
    CALL(s->hs_database_size(NULL, &size)), CALL(s->hs_database_size(db, NULL)), CALL(s->hs_database_size(db, &size));
    CALL(s->hs_serialized_database_size(bytes, length, &again)), say(s, "%d %d\n", size == again, size == length);
    CALL(s->hs_serialized_database_size(NULL, length, &again)), CALL(s->hs_serialized_database_size(bytes, length, NULL));
    CALL(s->hs_serialized_database_size(bytes, length - 1, &again));
    CALL(s->hs_database_info(NULL, &info)), CALL(s->hs_database_info(db, NULL)), CALL(s->hs_database_info((void *)((char *)db + 1), &info));
    CALL(s->hs_database_info(db, &info)), say(s, "%s\n", info ? strstr(info, "Mode") : ""), say(s, "%.14s\n", info), free(info);
    CALL(s->hs_serialized_database_info(NULL, length, &info)), CALL(s->hs_serialized_database_info(bytes, length, NULL));
    CALL(s->hs_serialized_database_info(bytes, 20, &info)), CALL(s->hs_serialized_database_info(bytes, length, &info));
    say(s, "%s\n", info ? strstr(info, "Mode") : ""), free(info);
    CALL(s->hs_free_database(db));
    CALL(s->hs_deserialize_database(NULL, length, &back)), CALL(s->hs_deserialize_database(bytes, length, NULL));
    CALL(s->hs_deserialize_database(bytes, length - 1, &back)), CALL(s->hs_deserialize_database(bytes, 0, &back));
    for (size_t at = 0; at < length; at += at < 40 ? 1 : 97) {
      bytes[at] ^= 0x40;
      hs_error_t e = s->hs_deserialize_database(bytes, length, &back);
      /* Reserved bytes may be anything; the platform and what follows are each library's own. */
      if (at < 8)
        say(s, "byte %zu changed: %d\n", at, e);
      if (!e)
        s->hs_free_database(back);
      bytes[at] ^= 0x40;
    }
    CALL(s->hs_deserialize_database(bytes, length, &back));
    hs_scratch_t *scratch = NULL;
    CALL(s->hs_alloc_scratch(back, &scratch));
    if (m == 0) {
      CALL(s->hs_scan(back, TEXTS[0], strlen(TEXTS[0]), 0, scratch, on_match, &found)), say_matches(s, "deserialised");
    }
    CALL(s->hs_free_database(back));
    char *place = aligned_alloc(64, (size + 127) & ~63ul);
    CALL(s->hs_deserialize_database_at(NULL, length, (void *)place)), CALL(s->hs_deserialize_database_at(bytes, length, NULL));
    CALL(s->hs_deserialize_database_at(bytes, length, (void *)(place + 4)));
    for (size_t shift = 0; shift < 64; shift += 8) {
      back = (void *)(place + shift);
      CALL(s->hs_deserialize_database_at(bytes, length, back));
      CALL(s->hs_alloc_scratch(back, &scratch));
      if (m == 0) {
        CALL(s->hs_scan(back, TEXTS[5], strlen(TEXTS[5]), 0, scratch, on_match, &found)), say_matches(s, "in place");
      }
    }
    CALL(s->hs_free_scratch(scratch));
    free(place), free(bytes);
  }
}

static size_t allocated[4], calls[4];
#define ALLOCATOR(n) \
  static void *alloc##n(size_t size) { \
    size_t *memory = malloc(size + 16); \
    allocated[n] += *memory = size; \
    calls[n]++; \
    return memory + 2; \
  } \
  static void free##n(void *pointer) { \
    if (!pointer) \
      return; \
    size_t *memory = (size_t *)pointer - 2; \
    allocated[n] -= *memory; \
    free(memory); \
  }
ALLOCATOR(0) ALLOCATOR(1) ALLOCATOR(2) ALLOCATOR(3)
static void *nothing(size_t size) { (void)size; return NULL; }
static void *odd(size_t size) { return (char *)malloc(size + 2) + 2; }
static void odd_free(void *pointer) { if (pointer) free((char *)pointer - 2); }

static void say_allocated(struct side *s) {
  for (int n = 0; n < 4; n++)
    say(s, "%d%d ", allocated[n] != 0, calls[n] != 0);
  say(s, "\n");
}

/* What comes from which allocator, and what its failures become. */
static void allocators(struct side *s) {
  hs_compile_error_t *error = NULL;
  hs_stream_t *stream = NULL, *copy = NULL;
  hs_scratch_t *scratch = NULL, *clone = NULL;
  hs_expr_info_t *expression = NULL;
  char *bytes = NULL, *info = NULL;
  size_t length = 0, size = 0;
  memset(calls, 0, sizeof calls);
  CALL(s->hs_set_database_allocator(alloc0, free0)), CALL(s->hs_set_misc_allocator(alloc1, free1));
  CALL(s->hs_set_scratch_allocator(alloc2, free2)), CALL(s->hs_set_stream_allocator(alloc3, free3));
  hs_database_t *db = compile(s, HS_MODE_STREAM, 0);
  say_allocated(s);
  CALL(s->hs_database_size(db, &size)), say(s, "%d\n", size == allocated[0]);
  CALL(s->hs_alloc_scratch(db, &scratch)), say_allocated(s);
  CALL(s->hs_scratch_size(scratch, &size)), say(s, "%d\n", size == allocated[2]);
  CALL(s->hs_clone_scratch(scratch, &clone)), say(s, "%d\n", 2 * size == allocated[2]);
  CALL(s->hs_open_stream(db, 0, &stream)), say_allocated(s);
  CALL(s->hs_stream_size(db, &size)), say(s, "%d\n", size == allocated[3]);
  CALL(s->hs_copy_stream(&copy, stream)), say(s, "%d\n", 2 * size == allocated[3]);
  CALL(s->hs_serialize_database(db, &bytes, &length)), say(s, "%d\n", length == allocated[1]), free1(bytes);
  CALL(s->hs_database_info(db, &info)), say_allocated(s), free1(info);
  CALL(s->hs_expression_info("a", 0, &expression, &error)), say_allocated(s), free1(expression), expression = NULL;
  CALL(s->hs_compile("(", 0, HS_MODE_BLOCK, NULL, &(hs_database_t *){0}, &error)), say_allocated(s), say_error(s, &error);
  CALL(s->hs_close_stream(copy, scratch, on_match, &found)), CALL(s->hs_close_stream(stream, scratch, on_match, &found));
  CALL(s->hs_free_scratch(clone)), CALL(s->hs_free_scratch(scratch)), CALL(s->hs_free_database(db));
  found.count = 0, say_allocated(s);
  for (int bad = 0; bad < 2; bad++) {
    hs_alloc_t alloc = bad ? odd : nothing;
    hs_free_t release = bad ? odd_free : free;
    CALL(s->hs_set_allocator(NULL, NULL));
    hs_database_t *none = NULL;
    db = compile(s, HS_MODE_STREAM, 0), scratch = NULL;
    CALL(s->hs_alloc_scratch(db, &scratch)), CALL(s->hs_serialize_database(db, &bytes, &length));
    CALL(s->hs_set_allocator(alloc, release));
    CALL(s->hs_compile("abc", 0, HS_MODE_BLOCK, NULL, &none, &error)), say(s, "%p %d\n", (void *)none, error != NULL), say_error(s, &error);
    CALL(s->hs_compile("(", 0, HS_MODE_BLOCK, NULL, &none, &error)), say_error(s, &error);
    CALL(s->hs_expression_info("abc", 0, &expression, &error)), s->hs_free_compile_error(error), error = NULL;
    if (expression)
      release(expression);
    expression = NULL, clone = NULL;
    CALL(s->hs_alloc_scratch(db, &clone)), CALL(s->hs_clone_scratch(scratch, &clone)), say(s, "%p\n", (void *)clone);
    /* Streams of memory that is not aligned are opened. */
    if (!bad) {
      CALL(s->hs_open_stream(db, 0, &stream));
    }
    CALL(s->hs_database_info(db, &info)), CALL(s->hs_deserialize_database(bytes, length, &none)), say(s, "%p\n", (void *)none);
    CALL(s->hs_set_allocator(NULL, NULL));
    s->hs_free_scratch(scratch), s->hs_free_database(db), free(bytes);
  }
}

/* What is made of the other library's serialised databases: neither takes them. */
static void foreign(void) {
  for (int i = 0; i < 2; i++) {
    struct side *s = &sides[i], *o = &sides[1 - i];
    hs_database_t *db = NULL, *back = NULL;
    hs_compile_error_t *error = NULL;
    char *bytes = NULL;
    size_t length = 0;
    o->hs_compile("abc", 0, HS_MODE_BLOCK, NULL, &db, &error);
    o->hs_serialize_database(db, &bytes, &length);
    CALL(s->hs_deserialize_database(bytes, length, &back)), CALL(s->hs_serialized_database_size(bytes, length, &length));
    hs_scratch_t *scratch = NULL;
    CALL(s->hs_alloc_scratch(db, &scratch));
    o->hs_free_database(db);
    free(bytes);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "both OURS STOCK\n");
    return 2;
  }
  load(&sides[0], argv[1]), load(&sides[1], argv[2]);
  static const struct { const char *name; void (*run)(struct side *); } parts[] = {
    {"arguments", arguments}, {"refusals", refusals}, {"scans", scans}, {"ids", ids}, {"streams", streams}, {"scratches", scratches},
    {"databases", databases}, {"allocators", allocators},
  };
  int different = 0;
  size_t lines = 0, from[2] = {0, 0};
  for (size_t p = 0; p <= sizeof parts / sizeof *parts; p++) {
    const char *name = p < sizeof parts / sizeof *parts ? parts[p].name : "foreign";
    if (p < sizeof parts / sizeof *parts) {
      for (int i = 0; i < 2; i++)
        parts[p].run(&sides[i]);
    } else {
      foreign();
    }
    for (int i = 0; i < 2; i++)
      fflush(sides[i].out);
    const char *a = sides[0].log + from[0], *b = sides[1].log + from[1];
    int shown = 0;
    while (*a || *b) {
      size_t la = strcspn(a, "\n"), lb = strcspn(b, "\n");
      if (la != lb || memcmp(a, b, la)) {
        if (shown++ < 12)
          printf("%s, line %zu\n  ours:  %.*s\n  stock: %.*s\n", name, lines, (int)la, a, (int)lb, b);
        different++;
      }
      lines++;
      a += la + (a[la] != 0), b += lb + (b[lb] != 0);
    }
    from[0] = sides[0].len, from[1] = sides[1].len;
  }
  printf("both: %zu lines compared, %d different\n", lines, different);
  return different != 0 || lines < 1000;
}
