/* Pattern matching by lookaside.h: sets, blocks, streams, what is saved. Run by tests/c.rs. Matches are compared with
 * known ones, and with those of a naive search. The first failed check ends it with exit status 1. */
#include <lookaside.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(c) ((c) ? (void)0 : fail(__LINE__, #c))
static void fail(int line, const char *what)
{
    fprintf(stderr, "scan_test.c:%d: %s (%s)\n", line, what, la_last_error());
    exit(1);
}

static la_runtime *start(int engines)
{
    la_runtime_options o = LA_RUNTIME_OPTIONS_INIT;
    la_runtime *r;
    o.engines = engines;
    CHECK(la_runtime_start(&o, &r) == LA_OK);
    return r;
}

static la_pattern pattern(uint32_t id, const char *text, uint32_t flags)
{
    la_pattern p = { 0 };
    p.id = id, p.text = text, p.text_len = strlen(text), p.flags = flags;
    return p;
}

static la_session *set(la_runtime *r, const la_pattern *patterns, size_t n, int mode)
{
    la_session *s;
    size_t bad = 9;
    int got = la_scan_session(r, patterns, n, mode, &s, NULL, 0, &bad);
    CHECK(got == LA_OK && s != NULL && bad == 0);
    return s;
}

static la_request request(const la_session *s, la_stream *st, const void *src, size_t n, la_match *to, size_t room)
{
    la_request q = { 0 };
    q.op = LA_OP_SCAN, q.session = s, q.stream = st, q.src = src, q.src_len = n;
    q.dst = to, q.dst_len = room * sizeof *to;
    return q;
}

static la_response scan(la_runtime *r, la_request q)
{
    la_response a;
    CHECK(la_call(r, &q, &a) == LA_OK);
    return a;
}

static int is(la_match m, uint32_t id, uint64_t start, uint64_t end)
{
    return m.id == id && m.start == start && m.end == end && m.reserved == 0;
}

static void known_matches(int engines)
{
    la_runtime *r = start(engines);
    la_pattern patterns[] = {
        pattern(1, "needle", 0),
        pattern(2, "ab+c", LA_SCAN_CASELESS),
        pattern(4, "^a", LA_SCAN_SINGLE_MATCH),
        pattern(5, "[x-z]{2,4}", LA_SCAN_START),
        pattern(6, "c$", 0),
        pattern(7, "1 & 2", LA_SCAN_COMBINATION),
        pattern(8, "a.c", 0),
        pattern(9, "needle", 0),
        pattern(10, "Abc", LA_SCAN_QUIET),
    };
    patterns[6].literal = 1;
    patterns[7].conditions = LA_SCAN_MIN_OFFSET, patterns[7].min_offset = 11;
    const char text[] = "aBC needle  xyz c";
    la_session *s = set(r, patterns, 9, LA_SCAN_BLOCK);
    la_match m[20];
    la_response a = scan(r, request(s, NULL, text, 17, m, 20));
    CHECK(a.status == LA_OK && a.consumed == 17 && a.produced == 7 * 24 && a.checksum == 7 && a.checksum_high == 0);
    CHECK(is(m[0], 4, 0, 1) && is(m[1], 2, 0, 3) && is(m[2], 1, 0, 10) && is(m[3], 7, 0, 10));
    CHECK(is(m[4], 5, 12, 14) && is(m[5], 5, 12, 15) && is(m[6], 6, 0, 17));
    /* A destination without room for all: the first ones, and how many there are. */
    memset(m, 0xee, sizeof m);
    a = scan(r, request(s, NULL, text, 17, m, 2));
    CHECK(a.status == LA_OVERFLOW && a.produced == 48 && a.checksum == 7 && is(m[1], 2, 0, 3));
    CHECK(m[2].end == 0xeeeeeeeeeeeeeeee);
    a = scan(r, request(s, NULL, text, 17, NULL, 0));
    CHECK(a.status == LA_OVERFLOW && a.produced == 0 && a.checksum == 7);
    /* Several places are one text. */
    struct iovec places[] = { { (void *)text, 6 }, { (void *)(text + 6), 11 } };
    la_request q = request(s, NULL, NULL, 0, m, 20);
    q.src_iov = places, q.src_iov_count = 2;
    CHECK(scan(r, q).checksum == 7);
    /* A set without patterns finds nothing. */
    la_session *empty = set(r, NULL, 0, LA_SCAN_BLOCK);
    a = scan(r, request(empty, NULL, text, 17, m, 20));
    CHECK(a.status == LA_OK && a.consumed == 17 && a.produced == 0 && la_session_free(empty) == LA_OK);
    /* A set for blocks has no streams. */
    la_stream *st;
    CHECK(la_scan_stream(s, NULL, 0, &st) == LA_E_UNSUPPORTED && st == NULL);
    CHECK(la_session_bound(s, 9) == 0);
    CHECK(la_session_free(s) == LA_OK && la_runtime_stop(r) == LA_OK);
}

static void refused(void)
{
    la_runtime *r = start(0);
    la_pattern patterns[] = { pattern(1, "good", 0), pattern(2, "a(b", 0), pattern(3, "(a)\\1", 0),
                              pattern(4, "x*", 0), pattern(5, "1 & 99", LA_SCAN_COMBINATION) };
    la_bad_pattern bad[5];
    la_session *s;
    size_t n = 77;
    memset(bad, 0xee, sizeof bad);
    CHECK(la_scan_session(r, patterns, 4, LA_SCAN_BLOCK, &s, bad, 5, &n) == LA_E_BAD_PATTERN && s == NULL);
    CHECK(n == 3 && bad[0].index == 1 && bad[0].id == 2 && bad[0].offset == 1 && strlen(bad[0].what) > 3);
    CHECK(bad[1].index == 2 && bad[1].id == 3 && bad[1].offset == 3 && strlen(bad[1].what) > 3);
    CHECK(bad[2].index == 3 && bad[2].id == 4 && strlen(bad[2].what) > 3);
    CHECK(bad[3].index == (size_t)0xeeeeeeeeeeeeeeee);
    CHECK(strstr(la_last_error(), "pattern 2 at byte 1") && strstr(la_last_error(), "pattern 4"));
    memset(bad, 0xee, sizeof bad);
    CHECK(la_scan_session(r, patterns, 4, LA_SCAN_BLOCK, &s, bad, 1, &n) == LA_E_BAD_PATTERN && n == 3);
    CHECK(bad[0].id == 2 && bad[1].index == (size_t)0xeeeeeeeeeeeeeeee);
    CHECK(la_scan_session(r, patterns, 4, LA_SCAN_BLOCK, &s, NULL, 0, NULL) == LA_E_BAD_PATTERN);
    CHECK(la_scan_session(r, patterns + 4, 1, LA_SCAN_BLOCK, &s, bad, 5, &n) == LA_E_BAD_PATTERN && n == 2 && bad[1].index == 0 && bad[1].offset == -1);
    /* Arguments that make no sense. */
    CHECK(la_scan_session(NULL, patterns, 1, 0, &s, NULL, 0, NULL) == LA_E_INVALID);
    CHECK(la_scan_session(r, NULL, 1, 0, &s, NULL, 0, NULL) == LA_E_INVALID);
    CHECK(la_scan_session(r, patterns, 1, 2, &s, NULL, 0, NULL) == LA_E_INVALID && s == NULL);
    CHECK(la_scan_session(r, patterns, 1, 0, NULL, NULL, 0, NULL) == LA_E_INVALID);
    CHECK(la_scan_session(r, patterns, 1, 0, &s, NULL, 1, NULL) == LA_E_INVALID);
    la_pattern odd[5] = { patterns[0], patterns[0], patterns[0], patterns[0], patterns[0] };
    odd[0].flags = 2048, odd[1].literal = 2, odd[2].conditions = 8, odd[3].reserved[1] = 1, odd[4].text = NULL;
    for (int k = 0; k < 5; k++)
        CHECK(la_scan_session(r, odd + k, 1, 0, &s, NULL, 0, NULL) == LA_E_INVALID && s == NULL);
    s = set(r, patterns, 1, LA_SCAN_STREAM);
    la_stream *st;
    la_match m[4];
    la_response a;
    CHECK(la_scan_stream(NULL, NULL, 0, &st) == LA_E_INVALID && la_scan_stream(s, NULL, 0, NULL) == LA_E_INVALID);
    CHECK(la_scan_stream(s, NULL, 3, &st) == LA_E_INVALID && la_scan_stream(s, "abc", 3, &st) == LA_E_BAD_DATA);
    CHECK(la_scan_stream(s, NULL, 0, &st) == LA_OK);
    la_request q = request(NULL, st, "good", 4, m, 4);
    q.flush = LA_FLUSH_SYNC;
    CHECK(la_call(r, &q, &a) == LA_E_INVALID);
    q.flush = LA_FLUSH_NONE, q.op = LA_OP_COMPRESS;
    CHECK(la_call(r, &q, &a) == LA_E_INVALID);
    q.op = LA_OP_SCAN, q.session = s;
    CHECK(la_call(r, &q, &a) == LA_E_INVALID);
    /* Sessions and streams of other services. */
    la_session *copy;
    la_stream *deflate;
    CHECK(la_copy_session(r, &copy) == LA_OK && la_compress_stream(r, NULL, NULL, 0, &deflate) == LA_OK);
    q = request(copy, NULL, "good", 4, m, 4);
    CHECK(la_call(r, &q, &a) == LA_E_INVALID);
    CHECK(la_scan_session_save(copy, NULL, 0, &n) == LA_E_INVALID);
    CHECK(la_scan_stream_save(deflate, NULL, 0, &n) == LA_E_INVALID);
    CHECK(la_scan_session_save(s, NULL, 0, NULL) == LA_E_INVALID && la_scan_session_save(s, NULL, 9, &n) == LA_E_INVALID);
    CHECK(la_stream_free(deflate) == LA_OK && la_session_free(copy) == LA_OK);
    CHECK(la_stream_free(st) == LA_OK && la_session_free(s) == LA_OK && la_runtime_stop(r) == LA_OK);
}

enum { N = 70000, MOST = 40000 };
static char text[N];
static la_match expected[MOST], found[MOST];

/* Strings, by comparing at each place: ids are their places in `words`. */
static const char *words[] = { "abc", "bca", "cab", "aabb", "bbbb", "abcabcabc" };
static size_t naive(void)
{
    size_t n = 0;
    for (size_t end = 1; end <= N; end++)
        for (uint32_t id = 0; id < 6; id++) {
            size_t len = strlen(words[id]);
            if (len <= end && memcmp(text + end - len, words[id], len) == 0) {
                CHECK(n < MOST);
                expected[n].end = end, expected[n].id = id, expected[n].start = 0, expected[n].reserved = 0;
                n++;
            }
        }
    return n;
}

static void compare(size_t n, size_t all)
{
    CHECK(n == all && memcmp(found, expected, all * sizeof found[0]) == 0);
}

/* Pieces of a stream, one after the other, with room for `room` matches in each request. */
static size_t pieces(la_runtime *r, la_stream *st, size_t at, size_t end, size_t piece, size_t room, size_t n)
{
    int over = 0;
    while (!over) {
        size_t take = end - at < piece ? end - at : piece;
        la_request q = request(NULL, st, text + at, take, found + n, room < MOST - n ? room : MOST - n);
        q.flush = at + take == N ? LA_FLUSH_FINISH : LA_FLUSH_NONE;
        la_response a = scan(r, q);
        CHECK(a.status == LA_OK || (a.status == LA_OVERFLOW && a.produced == room * sizeof found[0]));
        CHECK(a.checksum == a.produced / sizeof found[0] && (a.status == LA_OVERFLOW || a.consumed == take));
        n += a.produced / sizeof found[0], at += a.consumed;
        over = at == end && a.status == LA_OK;
    }
    return n;
}

static void streams(int engines)
{
    la_runtime *r = start(engines);
    la_pattern patterns[6];
    for (uint32_t id = 0; id < 6; id++)
        patterns[id] = pattern(id, words[id], 0);
    la_session *s = set(r, patterns, 6, LA_SCAN_STREAM);
    size_t all = naive();
    CHECK(all > 5000);
    la_response a = scan(r, request(s, NULL, text, N, found, MOST));
    CHECK(a.status == LA_OK && a.checksum == all);
    compare(a.produced / sizeof found[0], all);
    size_t sizes[][2] = { { N, MOST }, { 1000, MOST }, { 9999, 7 }, { N, 100 }, { 333, 1 } };
    for (int k = 0; k < 5; k++) {
        la_stream *st;
        memset(found, 0, sizeof found);
        CHECK(la_scan_stream(s, NULL, 0, &st) == LA_OK);
        compare(pieces(r, st, 0, N, sizes[k][0], sizes[k][1], 0), all);
        /* It has ended. */
        char state[4096];
        size_t len;
        a = scan(r, request(NULL, st, text, 9, found, 9));
        CHECK(a.status == LA_E_STREAM_ENDED);
        CHECK(la_scan_stream_save(st, state, sizeof state, &len) == LA_E_STREAM_ENDED);
        CHECK(la_stream_free(st) == LA_OK);
    }
    /* The set and the state of a stream go to another runtime, in the middle and with a match left over. */
    char state[4096], saved[4096];
    size_t state_len, saved_len, n;
    la_stream *st;
    CHECK(la_scan_stream(s, NULL, 0, &st) == LA_OK);
    memset(found, 0, sizeof found);
    n = pieces(r, st, 0, 30001, 1000, 33, 0);
    a = scan(r, request(NULL, st, text + 30001, 5000, found + n, 10));
    CHECK(a.status == LA_OVERFLOW && a.produced == 240);
    n += 10;
    CHECK(la_scan_stream_save(st, NULL, 0, &state_len) == LA_E_DST_TOO_SMALL && state_len > 8);
    CHECK(la_scan_stream_save(st, state, state_len - 1, &state_len) == LA_E_DST_TOO_SMALL);
    CHECK(la_scan_stream_save(st, state, sizeof state, &state_len) == LA_OK);
    CHECK(la_scan_session_save(s, NULL, 0, &saved_len) == LA_E_DST_TOO_SMALL && saved_len > 60);
    CHECK(la_scan_session_save(s, saved, sizeof saved, &saved_len) == LA_OK);
    CHECK(la_stream_free(st) == LA_OK && la_session_free(s) == LA_OK && la_runtime_stop(r) == LA_OK);
    r = start(engines);
    CHECK(la_scan_session_load(r, saved, saved_len - 1, &s) == LA_E_BAD_DATA && s == NULL);
    saved[saved_len - 9] ^= 1;
    CHECK(la_scan_session_load(r, saved, saved_len, &s) == LA_E_BAD_DATA);
    saved[saved_len - 9] ^= 1, saved[7]++;
    CHECK(la_scan_session_load(r, saved, saved_len, &s) == LA_E_UNSUPPORTED);
    saved[7]--;
    CHECK(la_scan_session_load(r, NULL, 3, &s) == LA_E_INVALID && la_scan_session_load(r, "", 0, &s) == LA_E_BAD_DATA);
    CHECK(la_scan_session_load(r, saved, saved_len, &s) == LA_OK);
    CHECK(la_scan_stream(s, state, state_len, &st) == LA_OK);
    compare(pieces(r, st, 30001 + a.consumed, N, 4096, MOST, n), all);
    CHECK(la_stream_free(st) == LA_OK && la_session_free(s) == LA_OK && la_runtime_stop(r) == LA_OK);
}

/* Pieces of several streams submitted ahead, whose answers nobody waits for in between. */
static void ahead(int engines)
{
    enum { STREAMS = 4, PIECES = 16, ROOM = MOST / PIECES };
    static la_match to[STREAMS][PIECES][ROOM];
    la_runtime *r = start(engines);
    la_pattern patterns[6];
    for (uint32_t id = 0; id < 6; id++)
        patterns[id] = pattern(id, words[id], 0);
    la_session *s = set(r, patterns, 6, LA_SCAN_STREAM);
    size_t all = naive(), piece = N / PIECES;
    la_stream *st[STREAMS];
    la_instance *i;
    la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
    o.depth = STREAMS * PIECES;
    CHECK(la_instance_open(r, &o, &i) == LA_OK);
    for (int k = 0; k < STREAMS; k++)
        CHECK(la_scan_stream(s, NULL, 0, &st[k]) == LA_OK);
    CHECK(la_session_free(s) == LA_OK);
    for (int p = 0; p < PIECES; p++)
        for (int k = 0; k < STREAMS; k++) {
            size_t len = p == PIECES - 1 ? N - p * piece : piece;
            la_request q = request(NULL, st[k], text + p * piece, len, to[k][p], ROOM);
            q.tag = k * PIECES + p, q.flush = p == PIECES - 1 ? LA_FLUSH_FINISH : LA_FLUSH_NONE;
            CHECK(la_instance_push(i, &q) == LA_OK);
        }
    CHECK(la_instance_doorbell(i) == STREAMS * PIECES);
    size_t n[STREAMS] = { 0 }, next[STREAMS] = { 0 }, got = 0;
    static la_match in_order[STREAMS][MOST];
    while (got < STREAMS * PIECES) {
        la_response a;
        if (la_instance_poll(i, &a, 1) == 0) {
            la_instance_wait(i, 1, LA_FOREVER);
            continue;
        }
        size_t k = a.tag / PIECES, p = a.tag % PIECES, matches = a.produced / sizeof(la_match);
        CHECK(a.status == LA_OK && p == next[k]++);
        memcpy(in_order[k] + n[k], to[k][p], a.produced);
        n[k] += matches, got++;
    }
    for (int k = 0; k < STREAMS; k++) {
        CHECK(n[k] == all && memcmp(in_order[k], expected, all * sizeof expected[0]) == 0);
        CHECK(la_stream_free(st[k]) == LA_OK);
    }
    /* Behind one that is full, the others did not run; they do when they come again. */
    la_pattern one = pattern(7, "abc", 0);
    s = set(r, &one, 1, LA_SCAN_STREAM);
    CHECK(la_scan_stream(s, NULL, 0, &st[0]) == LA_OK);
    la_match m[4];
    la_response a[3];
    la_request q[3] = { request(NULL, st[0], "abc abc", 7, m, 1), request(NULL, st[0], " ab", 3, m + 2, 1),
                        request(NULL, st[0], "c", 1, m + 3, 1) };
    for (int k = 0; k < 3; k++)
        CHECK(la_instance_push(i, &q[k]) == LA_OK);
    for (int k = 0; k < 3; k++)
        while (la_instance_poll(i, &a[k], 1) == 0)
            la_instance_wait(i, 1, LA_FOREVER);
    CHECK(a[0].status == LA_OVERFLOW && is(m[0], 7, 0, 3) && a[1].status == LA_E_CANCELLED);
    CHECK(a[2].status == LA_E_CANCELLED);
    q[0] = request(NULL, st[0], "abc abc" + a[0].consumed, 7 - a[0].consumed, m + 1, 1);
    for (int k = 0; k < 3; k++)
        CHECK(la_instance_push(i, &q[k]) == LA_OK);
    for (int k = 0; k < 3; k++)
        while (la_instance_poll(i, &a[k], 1) == 0)
            la_instance_wait(i, 1, LA_FOREVER);
    CHECK(a[0].status == LA_OK && a[1].status == LA_OK && a[2].status == LA_OK);
    CHECK(is(m[1], 7, 0, 7) && a[1].produced == 0 && is(m[3], 7, 0, 11));
    CHECK(la_stream_free(st[0]) == LA_OK && la_session_free(s) == LA_OK);
    CHECK(la_instance_close(i) == LA_OK && la_runtime_stop(r) == LA_OK);
}

int main(void)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        text[i] = "abc"[(seed >> 24) % 3];
    }
    refused();
    for (int engines = 0; engines <= 2; engines++) {
        known_matches(engines);
        streams(engines);
        ahead(engines);
    }
    puts("all of scans");
    return 0;
}
