/* Every function of lookaside.h, called from C. Run by tests/c.rs, which compiles it as strict C99
 * against the shared library. The first failed check ends it with exit status 1. */
#include <lookaside.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(c) ((c) ? (void)0 : fail(__LINE__, #c))
static void fail(int line, const char *what)
{
    fprintf(stderr, "capi_test.c:%d: %s (%s)\n", line, what, la_last_error());
    exit(1);
}

enum { N = 100000 };
static unsigned char text[N], packed[2 * N], back[N];

static uint32_t crc32(const unsigned char *p, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static la_runtime *start(int engines)
{
    la_runtime_options o = LA_RUNTIME_OPTIONS_INIT;
    la_runtime *r;
    o.engines = engines;
    CHECK(la_runtime_start(&o, &r) == LA_OK && r != NULL && la_runtime_engines(r) == engines);
    return r;
}

static la_session *session(la_runtime *r, int format, int level)
{
    la_compression c = LA_COMPRESSION_INIT;
    la_session *s;
    c.format = format, c.level = level;
    CHECK(la_compression_session(r, &c, &s) == LA_OK && s != NULL);
    return s;
}

static la_instance *instance(la_runtime *r, unsigned depth)
{
    la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
    la_instance *i;
    o.depth = depth;
    CHECK(la_instance_open(r, &o, &i) == LA_OK && i != NULL);
    CHECK(la_instance_free_slots(i) == (int)depth && la_instance_outstanding(i) == 0);
    return i;
}

static la_request request(int op, const la_session *s, const void *src, size_t n, void *dst,
                          size_t m)
{
    la_request r = { 0 };
    r.op = op, r.session = s, r.src = src, r.src_len = n, r.dst = dst, r.dst_len = m;
    return r;
}

static la_response answer(la_instance *i)
{
    la_response r;
    int n;
    while ((n = la_instance_poll(i, &r, 1)) == 0)
        CHECK(la_instance_wait(i, 1, LA_FOREVER) == 1);
    CHECK(n == 1 && r.reserved[0] == 0);
    return r;
}

static la_response run(la_instance *i, la_request r)
{
    r.tag = (uint64_t)(uintptr_t)&r;
    CHECK(la_instance_push(i, &r) == LA_OK);
    la_response a = answer(i);
    CHECK(a.tag == (uint64_t)(uintptr_t)&r);
    return a;
}

static void end(la_instance *i, la_session *s, la_runtime *r)
{
    CHECK(i == NULL || la_instance_close(i) == LA_OK);
    CHECK(la_session_free(s) == LA_OK && la_runtime_stop(r) == LA_OK);
}

static void words(void)
{
    CHECK(strcmp(la_version(), LA_VERSION) == 0);
    for (int s = -30; s < 10; s++)
        CHECK(strlen(la_strerror(s)) > 3);
    CHECK(strcmp(la_strerror(LA_E_FULL), "the ring is full") == 0);
    CHECK(strcmp(la_strerror(-9999), "unknown status") == 0);
    CHECK(strcmp(la_last_error(), "") == 0);
}

static void null_arguments(void)
{
    la_runtime *r = start(0);
    la_session *s = session(r, LA_RAW, 1);
    la_instance *i = instance(r, 1);
    la_stream *st = (la_stream *)s;
    la_request q = request(LA_OP_COPY, s, NULL, 0, NULL, 0);
    la_response a;
    CHECK(la_runtime_start(NULL, NULL) == LA_E_INVALID);
    CHECK(la_runtime_engines(NULL) == LA_E_INVALID && la_runtime_stop(NULL) == LA_E_INVALID);
    CHECK(la_compression_session(r, NULL, NULL) == LA_E_INVALID);
    CHECK(la_compression_session(NULL, NULL, &s) == LA_E_INVALID && s == NULL);
    s = (la_session *)st;
    CHECK(la_copy_session(r, NULL) == LA_E_INVALID);
    CHECK(la_copy_session(NULL, &s) == LA_E_INVALID && s == NULL);
    s = (la_session *)st;
    CHECK(la_session_bound(NULL, 9) == 0 && la_session_free(NULL) == LA_E_INVALID);
    CHECK(la_compress_stream(NULL, NULL, NULL, 0, &st) == LA_E_INVALID && st == NULL);
    CHECK(la_compress_stream(r, NULL, NULL, 9, &st) == LA_E_INVALID);
    CHECK(la_compress_stream(r, NULL, NULL, 0, NULL) == LA_E_INVALID);
    CHECK(la_decompress_stream(NULL, 0, NULL, 0, &st) == LA_E_INVALID);
    CHECK(la_decompress_stream(r, 0, NULL, 0, NULL) == LA_E_INVALID);
    CHECK(la_decompress_stream(r, 8, NULL, 0, &st) == LA_E_INVALID);
    CHECK(la_stream_free(NULL) == LA_E_INVALID);
    la_instance *none;
    CHECK(la_instance_open(NULL, NULL, &none) == LA_E_INVALID && none == NULL);
    CHECK(la_instance_open(r, NULL, NULL) == LA_E_INVALID);
    CHECK(la_instance_free_slots(NULL) == LA_E_INVALID &&
          la_instance_outstanding(NULL) == LA_E_INVALID);
    CHECK(la_instance_push(NULL, &q) == LA_E_INVALID && la_instance_push(i, NULL) == LA_E_INVALID);
    CHECK(la_instance_doorbell(NULL) == LA_E_INVALID &&
          la_instance_poll(NULL, &a, 1) == LA_E_INVALID);
    CHECK(la_instance_poll(i, NULL, 1) == LA_E_INVALID && la_instance_poll(i, NULL, 0) == 0);
    CHECK(la_instance_poll(i, &a, SIZE_MAX) == LA_E_INVALID);
    CHECK(la_instance_wait(NULL, 1, 0) == LA_E_INVALID &&
          la_instance_event_fd(NULL) == LA_E_INVALID);
    CHECK(la_instance_close(NULL) == LA_E_INVALID);
    CHECK(la_call(NULL, &q, &a) == LA_E_INVALID && la_call(r, NULL, &a) == LA_E_INVALID);
    CHECK(la_call(r, &q, NULL) == LA_E_INVALID);
    CHECK(la_counters_read(NULL, NULL, 0, NULL) == LA_E_INVALID);
    CHECK(la_counters_read(r, NULL, 1, NULL) == LA_E_INVALID);
    /* Objects of another kind. */
    CHECK(la_instance_close((la_instance *)s) == LA_E_INVALID);
    CHECK(strstr(la_last_error(), "la_instance") != NULL);
    CHECK(la_runtime_stop((la_runtime *)i) == LA_E_INVALID);
    CHECK(la_instance_doorbell((la_instance *)((char *)i + 1)) == LA_E_INVALID);
    end(i, s, r);
}

static void settings(void)
{
    la_runtime_options o = LA_RUNTIME_OPTIONS_INIT;
    struct { la_runtime_options known; uint64_t unknown; } later = { LA_RUNTIME_OPTIONS_INIT, 0 };
    int32_t cpus[] = { 0, 1000000 };
    la_runtime *r;
    o.size = 3;
    CHECK(la_runtime_start(&o, &r) == LA_E_INVALID && r == NULL);
    o.size = sizeof(size_t); /* defaults in all else */
    o.engines = -7;
    CHECK(la_runtime_start(&o, &r) == LA_OK && la_runtime_engines(r) > 0 &&
          la_runtime_stop(r) == LA_OK);
    o.size = sizeof o;
    CHECK(la_runtime_start(&o, &r) == LA_E_LIMIT);
    o.engines = 1025;
    CHECK(la_runtime_start(&o, &r) == LA_E_LIMIT && strstr(la_last_error(), "1025") != NULL);
    o.engines = 2, o.cpus = cpus, o.cpu_count = 2, o.batch_deadline_ns = 0;
    CHECK(la_runtime_start(&o, &r) == LA_E_LIMIT && strstr(la_last_error(), "1000000") != NULL);
    o.cpu_count = 1;
    int got = la_runtime_start(&o, &r); /* CPU 0 may be kept from this process */
    CHECK(got == LA_OK ? la_runtime_stop(r) == LA_OK : got == LA_E_SYSTEM);
    o.cpu_count = 2;
    cpus[1] = -1;
    CHECK(la_runtime_start(&o, &r) == LA_E_LIMIT);
    o.cpus = NULL;
    CHECK(la_runtime_start(&o, &r) == LA_E_INVALID);
    o.cpu_count = 0, o.reserved = 1;
    CHECK(la_runtime_start(&o, &r) == LA_E_INVALID);
    later.known.size = sizeof later, later.known.engines = 0;
    CHECK(la_runtime_start(&later.known, &r) == LA_OK && la_runtime_stop(r) == LA_OK);
    later.unknown = 1;
    CHECK(la_runtime_start(&later.known, &r) == LA_E_INVALID);

    r = start(0);
    la_session *s;
    int bad[][6] = { /* format, level, huffman, window, checksum; expected */
        { 8, 1, 0, 15, 0, LA_E_INVALID }, { -1, 1, 0, 15, 0, LA_E_INVALID },
        { 0, 13, 0, 15, 0, LA_E_LIMIT },  { 0, -1, 0, 15, 0, LA_E_LIMIT },
        { 0, 257, 0, 15, 0, LA_E_LIMIT }, { 0, 1, 2, 15, 0, LA_E_INVALID },
        { 0, 1, 0, 8, 0, LA_E_LIMIT },    { 0, 1, 0, 16, 0, LA_E_LIMIT },
        { 0, 1, 0, 15, 5, LA_E_INVALID }, { LA_LZ4, 0, 0, 15, 0, LA_E_LIMIT },
        { LA_LZ4S, 13, 0, 15, 0, LA_E_LIMIT }, { LA_ZSTD, 23, 0, 15, 0, LA_E_LIMIT } };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        la_compression c = LA_COMPRESSION_INIT;
        c.format = bad[k][0], c.level = bad[k][1], c.huffman = bad[k][2], c.window_bits = bad[k][3];
        c.checksum = bad[k][4];
        CHECK(la_compression_session(r, &c, &s) == bad[k][5] && s == NULL);
    }
    la_compression gzip = LA_COMPRESSION_INIT;
    la_stream *st;
    gzip.format = LA_GZIP;
    CHECK(la_compress_stream(r, &gzip, "abc", 3, &st) == LA_E_UNSUPPORTED && st == NULL);
    gzip.format = LA_LZ4_RAW;
    CHECK(la_compress_stream(r, &gzip, NULL, 0, &st) == LA_E_UNSUPPORTED && st == NULL);
    CHECK(la_decompress_stream(r, LA_LZ4S, NULL, 0, &st) == LA_E_UNSUPPORTED && st == NULL);
    gzip.format = LA_LZ4, gzip.block_bits = 17;
    CHECK(la_compression_session(r, &gzip, &s) == LA_E_LIMIT && s == NULL);

    la_instance_options io = LA_INSTANCE_OPTIONS_INIT;
    la_instance *i;
    io.depth = 65537;
    CHECK(la_instance_open(r, &io, &i) == LA_E_LIMIT && i == NULL);
    io.depth = 0, io.weight = 1001;
    CHECK(la_instance_open(r, &io, &i) == LA_E_LIMIT);
    io.weight = 0, io.committed_per_s = 2, io.peak_per_s = 1;
    CHECK(la_instance_open(r, &io, &i) == LA_E_LIMIT);
    io.peak_per_s = 1000000, io.burst = 1;
    CHECK(la_instance_open(r, &io, &i) == LA_E_LIMIT && strstr(la_last_error(), "burst") != NULL);
    io.committed_per_s = io.peak_per_s = 0;
    CHECK(la_instance_open(r, &io, &i) == LA_E_INVALID);
    io.peak_per_s = 1000000, io.burst = 0, io.unit = 3;
    CHECK(la_instance_open(r, &io, &i) == LA_E_INVALID);
    io.unit = LA_OPERATIONS, io.priority = -1;
    CHECK(la_instance_open(r, &io, &i) == LA_E_INVALID);
    io.priority = LA_PRIORITY_BACKGROUND;
    CHECK(la_instance_open(r, &io, &i) == LA_OK && la_instance_free_slots(i) == 64);
    CHECK(la_instance_close(i) == LA_OK && la_runtime_stop(r) == LA_OK);
}

static void round_trips(int engines)
{
    la_runtime *r = start(engines);
    la_instance *i = instance(r, 4);
    int levels[] = { 0, 1, 6, 12 };
    for (int format = LA_RAW; format <= LA_ZSTD; format++)
        for (int l = format <= LA_GZIP ? 0 : 1; l < 4; l++) {
            la_session *s = session(r, format, levels[l]);
            size_t sizes[] = { 0, 1, 1000, N };
            for (int k = 0; k < 4; k++) {
                size_t n = sizes[k], bound = la_session_bound(s, n);
                int none = format == LA_LZ4_BLOCKS && n == 0;
                CHECK((bound > n || none) && bound <= sizeof packed);
                la_response c = run(i, request(LA_OP_COMPRESS, s, text, n, packed, bound));
                CHECK(c.status == LA_END && c.consumed == n && (c.produced > 0 || none) &&
                      c.produced <= bound);
                CHECK(format != LA_GZIP || c.checksum == crc32(text, n));
                memset(back, 0xee, n);
                la_response d = run(i, request(LA_OP_DECOMPRESS, s, packed, c.produced, back, n));
                CHECK(d.status == LA_END && d.consumed == c.produced && d.produced == n);
                CHECK(memcmp(text, back, n) == 0 && d.checksum == c.checksum);
            }
            CHECK(la_session_free(s) == LA_OK);
        }
    /* Known answers: xxHash of "abc". */
    la_compression sums = LA_COMPRESSION_INIT;
    la_session *summed;
    sums.format = LA_ZSTD, sums.checksum = LA_CHECKSUM_XXH64;
    CHECK(la_compression_session(r, &sums, &summed) == LA_OK);
    la_response x = run(i, request(LA_OP_COMPRESS, summed, "abc", 3, packed, sizeof packed));
    CHECK(x.status == LA_END && x.checksum == 0xad770999u && x.checksum_high == 0x44bc2cf5u);
    CHECK(la_session_free(summed) == LA_OK);
    sums.format = LA_LZ4, sums.checksum = LA_CHECKSUM_NONE;
    CHECK(la_compression_session(r, &sums, &summed) == LA_OK);
    x = run(i, request(LA_OP_COMPRESS, summed, "abc", 3, packed, sizeof packed));
    CHECK(x.status == LA_END && x.checksum == 0x32d153ffu && x.checksum_high == 0);
    CHECK(la_session_free(summed) == LA_OK);
    la_session *copy;
    CHECK(la_copy_session(r, &copy) == LA_OK && la_session_bound(copy, 7) == 7);
    memset(back, 0, N);
    la_response c = run(i, request(LA_OP_COPY, copy, text, N, back, N));
    CHECK(c.status == LA_OK && c.produced == N && memcmp(text, back, N) == 0);
    end(i, copy, r);
}

static void refusals(int engines)
{
    la_runtime *r = start(engines);
    la_instance *i = instance(r, 4);
    la_session *s = session(r, LA_GZIP, 1);
    size_t bound = la_session_bound(s, N);
    la_response c = run(i, request(LA_OP_COMPRESS, s, text, N, packed, bound));
    CHECK(c.status == LA_END && c.produced > 100);

    la_response a = run(i, request(LA_OP_COMPRESS, s, text, N, back, 20));
    CHECK(a.status == LA_E_DST_TOO_SMALL && a.produced == 0);
    a = run(i, request(LA_OP_DECOMPRESS, s, packed, c.produced, back, N - 1));
    CHECK(a.status == LA_E_DST_TOO_SMALL);
    a = run(i, request(LA_OP_DECOMPRESS, s, packed, c.produced / 2, back, N));
    CHECK(a.status == LA_E_BAD_DATA && a.bad_reason == LA_BAD_TRUNCATED && a.bad_offset > 0);
    a = run(i, request(LA_OP_DECOMPRESS, s, text, N, back, N));
    CHECK(a.status == LA_E_BAD_DATA && a.bad_reason == LA_BAD_HEADER);
    packed[c.produced - 8] ^= 1;
    a = run(i, request(LA_OP_DECOMPRESS, s, packed, c.produced, back, N));
    CHECK(a.status == LA_E_BAD_DATA && a.bad_reason == LA_BAD_CHECKSUM);

    la_request bad[12];
    for (int k = 0; k < 12; k++)
        bad[k] = request(LA_OP_COMPRESS, s, text, N, packed, bound);
    bad[0].op = 0;
    bad[1].op = LA_OP_COPY;
    bad[2].flush = 4;
    bad[3].session = NULL;
    bad[4].stream = (la_stream *)s;
    bad[5].src = NULL;
    bad[6].dst = NULL;
    bad[7].dst_len = SIZE_MAX;
    bad[8].src_len = (size_t)-1 - (uintptr_t)text; /* up to the last byte of the address space */
    bad[9].dst = text + N - 1;
    bad[10].reserved[1] = 1;
    bad[11].session = (la_session *)i;
    for (int k = 0; k < 12; k++)
        CHECK(la_instance_push(i, &bad[k]) == LA_E_INVALID &&
              la_call(r, &bad[k], &a) == LA_E_INVALID);
    CHECK(la_instance_outstanding(i) == 0 && la_instance_wait(i, 1, LA_FOREVER) == 0);

    /* A full ring loses nothing. */
    static unsigned char out[4][1000];
    for (int k = 0; k < 4; k++) {
        la_request q = request(LA_OP_COMPRESS, s, text, 500, out[k], 1000);
        q.tag = k;
        CHECK(la_instance_push(i, &q) == LA_OK && la_instance_free_slots(i) == 3 - k);
    }
    CHECK(la_instance_push(i, &(la_request){ .op = 9 }) == LA_E_INVALID);
    la_request q = request(LA_OP_COMPRESS, s, text, 500, packed, 1000);
    CHECK(la_instance_push(i, &q) == LA_E_FULL && la_instance_doorbell(i) == 4);
    CHECK(la_instance_doorbell(i) == 0 && la_instance_wait(i, 99, LA_FOREVER) == 1);
    la_response all[8];
    unsigned seen = 0;
    while (la_instance_outstanding(i) > 0)
        for (int n = la_instance_poll(i, all, 8); n > 0; n--)
            seen |= 1u << all[n - 1].tag;
    CHECK(seen == 15 && la_instance_push(i, &q) == LA_OK && answer(i).status == LA_END);

    /* 8 requests of 500 bytes ran here, and what was before. */
    static la_counters rows[256]; /* of the CPU, and of the machine's device where there is one */
    uint64_t not_run = 77;
    int n = la_counters_read(r, rows, 256, &not_run);
    CHECK(n == la_counters_read(r, NULL, 0, NULL) && n >= 2 && n <= 256 && not_run == 0);
    la_counters few[2], untouched;
    memset(few, 0x5a, sizeof few), memset(&untouched, 0x5a, sizeof untouched);
    CHECK(la_counters_read(r, few, 1, NULL) == n); /* all that there are; one was written */
    CHECK(memcmp(&few[0], &rows[0], sizeof rows[0]) == 0);
    CHECK(memcmp(&few[1], &untouched, sizeof untouched) == 0);
    uint64_t requests = 0, errors = 0, bytes = 0, timed = 0;
    int found = 0;
    for (int k = 0; k < n; k++)
        if (strcmp(rows[k].op, "dc.compress") == 0) {
            int cpu = strcmp(rows[k].device, "cpu") == 0;
            CHECK(cpu || strcmp(rows[k].device, "shared") == 0);
            CHECK(rows[k].requests == 0 || (rows[k].batches > 0 && rows[k].busy_ns > 0));
            requests += rows[k].requests, errors += rows[k].errors, bytes += rows[k].src_bytes;
            for (int b = 0; b < LA_HISTOGRAM_BUCKETS; b++)
                timed += rows[k].service_ns[b];
            found += cpu;
        }
    CHECK(found == 1 && requests == 7 && errors == 1 && bytes == N + 5 * 500 && timed == 7);
    end(i, s, r);
}

static void scatter_gather(int engines)
{
    la_runtime *r = start(engines);
    la_instance *i = instance(r, 2);
    la_session *s = session(r, LA_ZLIB, 6);
    static struct iovec src[LA_IOV_MAX + 1], dst[3];
    for (int k = 0; k < 100; k++)
        src[k] = (struct iovec){ text + k * (N / 100), N / 100 };
    src[100] = (struct iovec){ NULL, 0 };
    for (int k = 0; k < 3; k++)
        dst[k] = (struct iovec){ packed + k * N / 2, k == 0 ? 10 : N / 2 };
    la_request q = { .op = LA_OP_COMPRESS, .session = s, .src_iov = src, .src_iov_count = 101 };
    q.dst_iov = dst, q.dst_iov_count = 3;
    la_response c = run(i, q);
    CHECK(c.status == LA_END && c.consumed == N && c.produced > 10);
    memmove(packed + 10, packed + N / 2, N / 2); /* the second piece, to behind the first */
    la_response d = run(i, request(LA_OP_DECOMPRESS, s, packed, c.produced, back, N));
    CHECK(c.produced < 10 + N / 2 && d.produced == N && memcmp(text, back, N) == 0);

    q.src_iov_count = LA_IOV_MAX + 1;
    CHECK(la_instance_push(i, &q) == LA_E_LIMIT);
    q.src_iov_count = 101, q.src = text;
    CHECK(la_instance_push(i, &q) == LA_E_INVALID);
    q.src = NULL, dst[1].iov_base = text + 5;
    CHECK(la_instance_push(i, &q) == LA_E_INVALID && strstr(la_last_error(), "overlap") != NULL);
    dst[1] = (struct iovec){ NULL, 9 };
    CHECK(la_instance_push(i, &q) == LA_E_INVALID);
    q.dst_iov = NULL;
    CHECK(la_instance_push(i, &q) == LA_E_INVALID);
    end(i, s, r);
}

static void streams(int engines)
{
    la_runtime *r = start(engines);
    la_instance *i = instance(r, 8);
    la_compression c = LA_COMPRESSION_INIT;
    la_stream *out, *in;
    c.format = LA_ZLIB, c.level = 6;
    CHECK(la_compress_stream(r, &c, text, 5000, &out) == LA_OK);
    CHECK(la_decompress_stream(r, LA_ZLIB, text, 5000, &in) == LA_OK);

    /* 5 pieces at once, in order; each with room enough. */
    size_t piece = N / 5, got[5], made = 0;
    for (int k = 0; k < 5; k++) {
        la_request q = { .op = LA_OP_COMPRESS, .stream = out, .tag = k };
        q.flush = k == 4 ? LA_FLUSH_FINISH : k == 1 ? LA_FLUSH_FULL : LA_FLUSH_SYNC;
        q.src = text + k * piece, q.src_len = piece, q.dst = packed + k * 40000, q.dst_len = 40000;
        CHECK(la_instance_push(i, &q) == LA_OK);
    }
    for (int k = 0; k < 5; k++) {
        la_response a = answer(i);
        CHECK(a.tag == (uint64_t)k && a.consumed == piece && a.status == (k == 4 ? LA_END : LA_OK));
        got[k] = a.produced;
    }
    for (int k = 0; k < 5; made += got[k++])
        memmove(packed + made, packed + k * 40000, got[k]);

    /* Back through a destination of 700 bytes: overflow, resumed until the end. One request behind
     * an overflow is cancelled. */
    la_request q = { .op = LA_OP_DECOMPRESS, .stream = in, .src = packed, .src_len = made };
    size_t total = 0, used = 0;
    int overflows = 0, cancelled = 0;
    la_response a;
    do {
        q.src = packed + used, q.src_len = made - used, q.dst = back + total;
        q.dst_len = N - total < 700 ? N - total : 700, q.tag = 1;
        CHECK(la_instance_push(i, &q) == LA_OK);
        if (overflows == 3) {
            la_request behind = q;
            behind.tag = 2, behind.dst = packed + made, behind.dst_len = 9;
            CHECK(la_instance_push(i, &behind) == LA_OK);
        }
        a = answer(i);
        CHECK(a.tag == 1 && a.status >= 0);
        if (overflows == 3) {
            la_response b = answer(i);
            CHECK(b.tag == 2 && b.status == LA_E_CANCELLED && b.consumed == 0);
            cancelled++;
        }
        total += a.produced, used += a.consumed, overflows += a.status == LA_OVERFLOW;
    } while (a.status == LA_OVERFLOW);
    CHECK(a.status == LA_END && total == N && used == made && overflows > 100 && cancelled == 1);
    CHECK(memcmp(text, back, N) == 0);
    /* After the end: a decompressor takes nothing more, a compressor refuses more. */
    q.src = text, q.src_len = 9, q.dst = back, q.dst_len = 9;
    a = run(i, q);
    CHECK(a.status == LA_END && a.consumed == 0 && a.produced == 0);
    q.op = LA_OP_COMPRESS, q.stream = out;
    CHECK(run(i, q).status == LA_E_STREAM_ENDED);
    CHECK(la_stream_free(in) == LA_OK);

    /* Without its dictionary, it is refused. */
    CHECK(la_decompress_stream(r, LA_ZLIB, NULL, 0, &in) == LA_OK);
    q = (la_request){ .op = LA_OP_DECOMPRESS, .stream = in, .src = packed, .src_len = made };
    q.dst = back, q.dst_len = N;
    a = run(i, q);
    CHECK(a.status == LA_E_BAD_DATA && a.bad_reason == LA_BAD_DICTIONARY);
    q.op = LA_OP_COMPRESS;
    CHECK(la_instance_push(i, &q) == LA_E_INVALID);
    CHECK(la_stream_free(in) == LA_OK && la_stream_free(out) == LA_OK);
    CHECK(la_instance_close(i) == LA_OK && la_runtime_stop(r) == LA_OK);
}

static void event_fd(int engines)
{
    la_runtime *r = start(engines);
    la_instance *i = instance(r, 16);
    la_session *s = session(r, LA_RAW, 1);
    struct pollfd p = { .fd = la_instance_event_fd(i), .events = POLLIN };
    CHECK(p.fd >= 0 && la_instance_event_fd(i) == p.fd);
    la_response a[16];
    CHECK(la_instance_poll(i, a, 16) == 0 && poll(&p, 1, 0) == 0);
    for (int round = 0; round < 100; round++) {
        for (int k = 0; k < 4; k++) {
            la_request q = request(LA_OP_COMPRESS, s, text, 20000, packed + k * 30000, 30000);
            CHECK(la_instance_push(i, &q) == LA_OK);
        }
        la_instance_doorbell(i);
        for (int got = 0; got < 4;) {
            int n = la_instance_poll(i, a, 16);
            CHECK(n >= 0);
            if (n == 0)
                CHECK(poll(&p, 1, 10000) == 1);
            got += n;
        }
        CHECK(la_instance_poll(i, a, 16) == 0);
    }
    CHECK(poll(&p, 1, 0) == 0);
    end(i, s, r);
}

static void *wait_inside(void *i)
{
    int got;
    do
        got = la_instance_wait(i, 2, 500000000);
    while (got == LA_E_BUSY); /* the other thread was asking */
    return (void *)(intptr_t)got;
}

/* A second thread is turned away; closing cancels what a rate holds back. */
static void busy_and_close(void)
{
    la_runtime *r = start(1);
    la_session *s = session(r, LA_RAW, 1);
    la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
    la_instance *i;
    o.peak_per_s = 1000;
    CHECK(la_instance_open(r, &o, &i) == LA_OK);
    for (int k = 0; k < 2; k++) {
        la_request q = request(LA_OP_COMPRESS, s, text, 65536, packed + k * N, N);
        CHECK(la_instance_push(i, &q) == LA_OK);
    }
    CHECK(la_session_free(s) == LA_OK); /* the requests keep it */
    pthread_t t;
    void *waited;
    CHECK(pthread_create(&t, NULL, wait_inside, i) == 0);
    for (int looks = 0; la_instance_outstanding(i) != LA_E_BUSY; looks++) {
        CHECK(looks < 20000 && "no look found the other thread in la_instance_wait");
        usleep(100);
    }
    CHECK(la_instance_close(i) == LA_E_BUSY && la_instance_doorbell(i) == LA_E_BUSY);
    CHECK(pthread_join(t, &waited) == 0 && waited == NULL);
    CHECK(answer(i).status == LA_END && la_instance_outstanding(i) == 1);
    CHECK(la_instance_wait(i, 1, 1000000) == 0);
    CHECK(la_runtime_stop(r) == LA_OK); /* the instance keeps its engines */
    CHECK(la_instance_close(i) == LA_OK);
    memset(packed, 0, sizeof packed);
}

/* A full ring refuses what is beyond its depth, or lets some of it spill. */
static void spill(int engines)
{
    la_runtime *r = start(engines);
    la_session *s = session(r, LA_RAW, 1);
    for (unsigned spilled = 0; spilled < 4; spilled += 3) {
        la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
        la_instance *i;
        la_request q = request(LA_OP_COMPRESS, s, text, 1000, packed, 2000);
        o.depth = 2, o.spill = spilled;
        CHECK(la_instance_open(r, &o, &i) == LA_OK);
        CHECK(la_instance_free_slots(i) == 2 + (int)spilled);
        for (q.tag = 0; q.tag < 2 + spilled; q.tag++) {
            q.dst = packed + 2000 * q.tag;
            CHECK(la_instance_push(i, &q) == LA_OK);
        }
        q.dst = packed + 2000 * q.tag;
        CHECK(la_instance_free_slots(i) == 0 && la_instance_push(i, &q) == LA_E_FULL);
        for (unsigned k = 0; k < 2 + spilled; k++)
            CHECK(answer(i).status == LA_END);
        CHECK(la_instance_free_slots(i) == 2 + (int)spilled);
        CHECK(la_instance_close(i) == LA_OK);
        o.spill = 65537;
        CHECK(la_instance_open(r, &o, &i) == LA_E_LIMIT && i == NULL);
        o.spill = 0, o.reserved = 1;
        CHECK(la_instance_open(r, &o, &i) == LA_E_INVALID && i == NULL);
    }
    CHECK(la_session_free(s) == LA_OK && la_runtime_stop(r) == LA_OK);
}

/* What a rate holds back is cancelled, comes too late, or is served; two instances share the rate. */
static void cancel_and_deadline(int engines)
{
    la_runtime *r = start(engines);
    la_session *s = session(r, LA_RAW, 1);
    la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
    la_instance *i, *other;
    o.unit = LA_OPERATIONS, o.peak_per_s = 20; /* one in 50 ms */
    CHECK(la_instance_open(r, &o, &i) == LA_OK);
    CHECK(la_instance_open_another(i, NULL) == LA_E_INVALID);
    CHECK(la_instance_open_another(NULL, &other) == LA_E_INVALID && other == NULL);
    CHECK(la_instance_open_another(i, &other) == LA_OK);
    la_request q = request(LA_OP_COMPRESS, s, text, 1000, packed, 2000);
    CHECK(run(i, q).status == LA_END && run(other, q).status == LA_END); /* the burst of 2 */
    for (q.tag = 1; q.tag < 4; q.tag++) {
        q.dst = packed + 2000 * q.tag;
        CHECK((q.tag == 2 ? la_instance_push_within(i, &q, 1000000)
                          : la_instance_push(i, &q)) == LA_OK);
    }
    CHECK(la_instance_cancel(i, 1) == 1 && la_instance_cancel(i, 1) == 0);
    CHECK(la_instance_cancel(i, 99) == 0 && la_instance_cancel(NULL, 1) == LA_E_INVALID);
    for (int expected[] = { LA_E_CANCELLED, LA_E_EXPIRED, LA_END }, k = 0; k < 3; k++) {
        la_response a = answer(i);
        CHECK(a.tag == (uint64_t)k + 1 && a.status == expected[k]);
    }
    CHECK(la_instance_close(other) == LA_OK);
    end(i, s, r);
}

static void calls(int engines)
{
    la_runtime *r = start(engines);
    la_session *s = session(r, LA_GZIP, 6);
    la_response a;
    la_request q = request(LA_OP_COMPRESS, s, text, N, packed, sizeof packed);
    q.tag = 42;
    CHECK(la_call(r, &q, &a) == LA_OK && a.tag == 42 && a.status == LA_END && a.consumed == N);
    q = request(LA_OP_DECOMPRESS, s, packed, a.produced, back, 9);
    CHECK(la_call(r, &q, &a) == LA_OK && a.status == LA_E_DST_TOO_SMALL);
    end(NULL, s, r);
}

/* A child goes on with what the parent made; neither hangs. */
static void forked(int engines)
{
    la_runtime *r = start(engines);
    la_instance *i = instance(r, 8);
    la_session *s = session(r, LA_GZIP, 6);
    la_request q = request(LA_OP_COMPRESS, s, text, N, packed, sizeof packed);
    CHECK(run(i, q).status == LA_END && la_instance_event_fd(i) >= 0);
    CHECK(la_instance_push(i, &q) == LA_OK && la_instance_doorbell(i) == 1);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(30);
        static unsigned char mine[2 * N];
        la_response a;
        q.dst = mine, q.dst_len = sizeof mine;
        CHECK(run(i, q).status == LA_END);
        CHECK(la_call(r, &q, &a) == LA_OK && a.status == LA_END && a.produced > 0);
        struct pollfd p = { .fd = la_instance_event_fd(i), .events = POLLIN };
        CHECK(la_instance_poll(i, &a, 1) == 0 && la_instance_push(i, &q) == LA_OK);
        la_instance_doorbell(i);
        while (la_instance_poll(i, &a, 1) == 0)
            CHECK(poll(&p, 1, 10000) == 1);
        end(i, s, r);
        _exit(0);
    }
    int status;
    CHECK(answer(i).status == LA_END);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end(i, s, r);
}

/* A child made while another thread of the parent waits inside an instance uses it, or closes it. */
static void forked_while_busy(int engines)
{
    la_runtime *r = start(engines);
    la_session *s = session(r, LA_RAW, 1);
    la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
    la_instance *i;
    o.peak_per_s = 100000, o.max_request = N;
    CHECK(la_instance_open(r, &o, &i) == LA_OK);
    for (int k = 0; k < 4; k++) { /* the first at once, then one in a second */
        la_request q = request(LA_OP_COMPRESS, s, text, N, packed, 0);
        CHECK(la_instance_push(i, &q) == LA_OK);
    }
    pthread_t t;
    void *waited;
    CHECK(pthread_create(&t, NULL, wait_inside, i) == 0);
    for (int looks = 0; la_instance_outstanding(i) != LA_E_BUSY; looks++) {
        CHECK(looks < 20000 && "no look found the other thread in la_instance_wait");
        usleep(100);
    }
    pid_t children[2];
    for (int close_at_once = 0; close_at_once <= 1; close_at_once++) {
        children[close_at_once] = fork();
        CHECK(children[close_at_once] >= 0);
        if (children[close_at_once] == 0) {
            alarm(30);
            if (!close_at_once) {
                la_request q = request(LA_OP_COMPRESS, s, text, 1000, packed, N);
                CHECK(la_instance_outstanding(i) == 0 && la_instance_free_slots(i) == 64);
                CHECK(run(i, q).status == LA_END);
            }
            end(i, s, r);
            _exit(0);
        }
    }
    CHECK(la_instance_outstanding(i) == LA_E_BUSY && "the other thread was inside all the time");
    for (int k = 0; k < 2; k++) {
        int status;
        CHECK(waitpid(children[k], &status, 0) == children[k]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(pthread_join(t, &waited) == 0);
    end(i, s, r);
}

/* Without memory for it an instance is refused; nothing ends the process. */
static void little_memory(int engines)
{
    int opened = 0, refused = 0;
    for (size_t more = 0; more < 48 << 20; more += 2 << 20) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            la_runtime *r = start(engines);
            la_session *s = session(r, LA_RAW, 1);
            la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
            la_instance *i;
            la_response a;
            la_request q = request(LA_OP_COMPRESS, s, text, 100, packed, N);
            struct rlimit limit;
            unsigned long pages;
            FILE *f = fopen("/proc/self/statm", "r");
            CHECK(la_call(r, &q, &a) == LA_OK && a.status == LA_END); /* the engine has started */
            CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1 && fclose(f) == 0);
            limit.rlim_cur = limit.rlim_max = pages * 4096 + more;
            CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
            o.depth = 65536;
            int got = la_instance_open(r, &o, &i);
            if (got == LA_E_NOMEM)
                _exit(i == NULL && strstr(la_last_error(), "not enough memory") ? 2 : 1);
            CHECK(got == LA_OK && la_instance_free_slots(i) == 65536);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 1);
        *(WEXITSTATUS(status) == 0 ? &opened : &refused) += 1;
    }
    CHECK(opened > 0 && refused > 0);
}

int main(void)
{
    alarm(120); /* a hang is a failure */
    uint32_t seed = 1;
    for (size_t i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        text[i] = "etaoin shrdlu\n"[(seed >> 24) % 14];
    }
    /* First: what the others free would be memory. */
    for (int engines = 0; engines <= 1; engines++)
        little_memory(engines);
    words();
    null_arguments();
    settings();
    for (int engines = 0; engines <= 2; engines++) {
        round_trips(engines);
        refusals(engines);
        scatter_gather(engines);
        streams(engines);
        event_fd(engines);
        spill(engines);
        cancel_and_deadline(engines);
        calls(engines);
        forked(engines);
    }
    busy_and_close();
    for (int engines = 0; engines <= 1; engines++)
        forked_while_busy(engines);
    puts("all of lookaside.h");
    return 0;
}
