/* Every function of zlib.h at least once, with what it promises at the edges. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"

/* These stay unmentioned in zlib.h, and are exported. */
int inflateSyncPoint(z_streamp stream);
int inflateUndermine(z_streamp stream, int subvert);
int inflateValidate(z_streamp stream, int check);
unsigned long inflateCodesUsed(z_streamp stream);
const z_crc_t *get_crc_table(void);
int inflateResetKeep(z_streamp stream);
int deflateResetKeep(z_streamp stream);

static unsigned char *text;
enum { LEN = 100000 };

static void sums(void)
{
    uLong crc = crc32(crc32(0, NULL, 0), text, 1000);
    uLong adler = adler32(adler32(0, NULL, 0), text, 1000);

    CHECK(crc32(0, (const Bytef *)"123456789", 9) == 0xcbf43926);
    CHECK(adler32(1, (const Bytef *)"Wikipedia", 9) == 0x11e60398);
    CHECK(crc32_z(crc, text + 1000, 2000) == crc32(0, text, 3000));
    CHECK(adler32_z(adler, text + 1000, 2000) == adler32(1, text, 3000));
    CHECK(crc32_combine(crc, crc32(0, text + 1000, 2000), 2000) == crc32(0, text, 3000));
    CHECK(crc32_combine_op(crc, crc32(0, text + 1000, 2000), crc32_combine_gen(2000)) ==
          crc32(0, text, 3000));
    CHECK(adler32_combine(adler, adler32(1, text + 1000, 2000), 2000) == adler32(1, text, 3000));
    CHECK(get_crc_table()[1] == 0x77073096);
    CHECK(strcmp(zlibVersion(), "1.2.13") == 0);
    CHECK(zlibCompileFlags() == 0xa9);
    CHECK(strcmp(zError(Z_DATA_ERROR), "data error") == 0);
}

static void whole(void)
{
    uLong bound = compressBound(LEN), len, used;
    Bytef *packed = malloc(bound), *back = malloc(LEN);
    int level;

    for (level = -1; level <= 9; level++) {
        len = bound;
        CHECK(compress2(packed, &len, text, LEN, level) == Z_OK);
        used = LEN;
        CHECK(uncompress(back, &used, packed, len) == Z_OK && used == LEN);
        CHECK(memcmp(back, text, LEN) == 0);
    }
    len = bound;
    CHECK(compress2(packed, &len, text, LEN, 10) == Z_STREAM_ERROR);
    len = 100;
    CHECK(compress(packed, &len, text, LEN) == Z_BUF_ERROR);
    len = bound;
    CHECK(compress(packed, &len, text, LEN) == Z_OK);
    used = LEN - 1;
    CHECK(uncompress(back, &used, packed, len) == Z_BUF_ERROR);
    used = LEN;
    CHECK(uncompress(back, &used, packed, len / 2) == Z_DATA_ERROR);
    used = LEN;
    bound = len;
    CHECK(uncompress2(back, &used, packed, &bound) == Z_OK && bound == len && used == LEN);
    packed[len - 1] ^= 1;
    CHECK(uncompress(back, &used, packed, len) == Z_DATA_ERROR);
    free(packed);
    free(back);
}

/* Calls deflate until it needs no more room, in pieces of `room`. Returns the end of the output. */
static Bytef *drain(z_stream *s, int flush, unsigned room, int end)
{
    int result;

    do {
        s->avail_out = room;
        result = deflate(s, flush);
        CHECK(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
    } while (s->avail_out == 0);
    CHECK(result == end || result == Z_BUF_ERROR);
    return s->next_out;
}

static void streams(void)
{
    static const int flushes[] = {Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK};
    static const int ways[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_BLOCK, Z_TREES};
    Bytef *packed = malloc(3 * LEN), *back = malloc(LEN + 100), *end, dictionary[300], window[32768];
    char name[20] = "", comment[20] = "", extra[20] = "";
    z_stream s, copy;
    gz_header header, seen;
    unsigned pending, n, round;
    int bits, result, wrap, looked;

    for (round = 0; round < 30; round++) {
        wrap = round % 3 == 0 ? 15 : round % 3 == 1 ? 31 : -15;
        memset(&s, 0, sizeof s);
        CHECK(deflateInit2(&s, (int)round % 10, Z_DEFLATED, wrap, 1 + (int)round % 9, (int)round % 5) == Z_OK);
        if (wrap == 31) {
            memset(&header, 0, sizeof header);
            header.name = (Bytef *)"name";
            header.comment = (Bytef *)"comment";
            header.extra = (Bytef *)"extra";
            header.extra_len = 5;
            header.hcrc = 1;
            header.time = 12345;
            CHECK(deflateSetHeader(&s, &header) == Z_OK);
        } else {
            CHECK(deflateSetHeader(&s, &header) == Z_STREAM_ERROR || wrap == 31);
            CHECK(deflateSetDictionary(&s, text + LEN - 300, 300) == Z_OK);
            n = sizeof window;
            CHECK(deflateGetDictionary(&s, window, &n) == Z_OK && n == 300);
            CHECK(memcmp(window, text + LEN - 300, 300) == 0);
        }
        CHECK(deflateTune(&s, 8, 16, 128, 128) == Z_OK);
        s.next_out = packed;
        CHECK(deflateBound(&s, LEN) >= LEN);
        /* In pieces, with every flush, a copy and another level on the way. */
        for (n = 0; n < 6; n++) {
            s.next_in = text + n * 10000;
            s.avail_in = 10000;
            drain(&s, flushes[(n + round) % 5], 1000 + round, Z_OK);
            CHECK(s.avail_in == 0);
        }
        CHECK(deflate(&s, Z_TREES) == Z_STREAM_ERROR);
        CHECK(deflatePending(&s, &pending, &bits) == Z_OK && bits < 8);
        s.avail_out = LEN;
        CHECK(deflateParams(&s, 9 - (int)round % 10, Z_DEFAULT_STRATEGY) == Z_OK);
        CHECK(deflateCopy(&copy, &s) == Z_OK);
        CHECK(deflateEnd(&s) == (s.total_in ? Z_DATA_ERROR : Z_OK));
        copy.next_in = text + 60000;
        copy.avail_in = LEN - 60000;
        end = drain(&copy, Z_FINISH, LEN, Z_STREAM_END);
        /* zlib counts a dictionary as input. */
        CHECK(copy.total_in % LEN <= 300 && copy.total_out == (uLong)(end - packed));
        CHECK(deflateReset(&copy) == Z_OK && copy.total_in == 0);
        CHECK(deflateResetKeep(&copy) == Z_OK);
        CHECK(deflateEnd(&copy) == Z_OK);
        CHECK(deflateEnd(&copy) == Z_STREAM_ERROR);

        memset(&s, 0, sizeof s);
        CHECK(inflateInit2(&s, wrap == 31 ? 47 : wrap) == Z_OK);
        memset(&seen, 0, sizeof seen);
        if (wrap == 31) {
            seen.name = (Bytef *)name;
            seen.name_max = sizeof name;
            seen.comment = (Bytef *)comment;
            seen.comm_max = sizeof comment;
            seen.extra = (Bytef *)extra;
            seen.extra_max = sizeof extra;
            CHECK(inflateGetHeader(&s, &seen) == Z_OK);
        } else {
            CHECK(inflateGetHeader(&s, &seen) == Z_STREAM_ERROR || wrap == 15);
        }
        if (wrap == -15)
            CHECK(inflateSetDictionary(&s, text + LEN - 300, 300) == Z_OK);
        s.next_in = packed;
        s.next_out = back;
        result = looked = 0;
        while (result != Z_STREAM_END) {
            if (s.avail_in == 0)
                s.avail_in = (unsigned)(end - s.next_in) < 777 ? (unsigned)(end - s.next_in) : 777;
            s.avail_out = 1 + 5 * round * round;
            result = inflate(&s, ways[round % 4]);
            if (result == Z_NEED_DICT) {
                CHECK(s.adler == adler32(1, text + LEN - 300, 300));
                CHECK(inflateSetDictionary(&s, text, 300) == Z_DATA_ERROR);
                CHECK(inflateSetDictionary(&s, text + LEN - 300, 300) == Z_OK);
                result = Z_OK;
            }
            CHECK(result == Z_OK || result == Z_STREAM_END || (round % 4 > 1 && result == Z_BUF_ERROR));
            CHECK(inflateCodesUsed(&s) < 100000);
            if (result == Z_OK && s.total_out > LEN / 2 && !looked) {
                n = sizeof window;
                CHECK(inflateGetDictionary(&s, window, &n) == Z_OK && n == sizeof window);
                CHECK(memcmp(window, s.next_out - n, n) == 0);
                looked = 1;
            }
        }
        /* The call that asks for a dictionary counts no input. */
        CHECK(s.next_in == end && (uLong)(end - packed) - s.total_in <= 6);
        CHECK(s.total_out == LEN && memcmp(back, text, LEN) == 0);
        if (wrap == 31) {
            CHECK(seen.done == 1 && seen.time == 12345 && seen.hcrc == 1 && seen.extra_len == 5);
            CHECK(!strcmp(name, "name") && !strcmp(comment, "comment") && !memcmp(extra, "extra", 5));
        }
        CHECK(inflateCopy(&copy, &s) == Z_OK && inflateEnd(&copy) == Z_OK);
        CHECK(inflateReset(&s) == Z_OK && inflateReset2(&s, 15) == Z_OK);
        CHECK(inflateResetKeep(&s) == Z_OK && inflateValidate(&s, 1) == Z_OK);
        CHECK(inflateUndermine(&s, 1) != Z_STREAM_ERROR);
        CHECK(inflateEnd(&s) == Z_OK && inflateEnd(&s) == Z_STREAM_ERROR);
    }
    memcpy(dictionary, text, sizeof dictionary);

    /* Bits before a raw stream, and how inflate finds its way after damage. */
    memset(&s, 0, sizeof s);
    CHECK(deflateInit2(&s, 6, Z_DEFLATED, -15, 8, 0) == Z_OK);
    CHECK(deflatePrime(&s, 5, 21) == Z_OK);
    s.next_in = text;
    s.avail_in = 30000;
    s.next_out = packed;
    drain(&s, Z_FULL_FLUSH, LEN, Z_OK);
    n = (unsigned)s.total_out;
    s.next_in = text + 30000;
    s.avail_in = 30000;
    end = drain(&s, Z_FINISH, LEN, Z_STREAM_END);
    CHECK(deflateEnd(&s) == Z_OK);
    CHECK((packed[0] & 31) == 21);
    memset(&s, 0, sizeof s);
    CHECK(inflateInit2(&s, -15) == Z_OK);
    CHECK(inflatePrime(&s, 3, packed[0] >> 5) == Z_OK);
    CHECK(inflateMark(&s) == -65536);
    s.next_in = packed + 1;
    s.avail_in = (unsigned)(end - packed - 1);
    s.next_out = back;
    s.avail_out = LEN;
    CHECK(inflate(&s, Z_FINISH) == Z_STREAM_END && s.total_out == 60000);
    CHECK(memcmp(back, text, 60000) == 0);
    CHECK(inflateReset(&s) == Z_OK);
    s.next_in = packed + n / 2;
    s.avail_in = (unsigned)(end - s.next_in);
    CHECK(inflateSync(&s) == Z_OK && s.next_in == packed + n);
    CHECK(inflateSyncPoint(&s) == 0);
    s.next_out = back;
    s.avail_out = LEN;
    CHECK(inflate(&s, Z_FINISH) == Z_STREAM_END && memcmp(back, text + 30000, 30000) == 0);
    CHECK(inflateEnd(&s) == Z_OK);

    /* What is refused at once. */
    memset(&s, 0, sizeof s);
    CHECK(deflateInit(&s, 10) == Z_STREAM_ERROR);
    CHECK(deflateInit_(&s, 6, "2.0", (int)sizeof s) == Z_VERSION_ERROR);
    CHECK(inflateInit_(&s, "1.2.13", 1) == Z_VERSION_ERROR);
    CHECK(inflateInit2(&s, 48) == Z_STREAM_ERROR);
    CHECK(deflateInit2(&s, 6, 7, 15, 8, 0) == Z_STREAM_ERROR);
    CHECK(deflate(NULL, 0) == Z_STREAM_ERROR && inflate(NULL, 0) == Z_STREAM_ERROR);
    free(packed);
    free(back);
}

struct side {
    const Bytef *in;
    unsigned left;
    Bytef *out;
};

static unsigned give(void *side, z_const Bytef **next)
{
    struct side *s = side;
    unsigned n = s->left < 500 ? s->left : 500;
    *next = (z_const Bytef *)s->in;
    s->in += n;
    s->left -= n;
    return n;
}

static int take(void *side, Bytef *data, unsigned len)
{
    struct side *s = side;
    memcpy(s->out, data, len);
    s->out += len;
    return 0;
}

static void back_and_forth(void)
{
    Bytef *packed = malloc(2 * LEN), *back = malloc(2 * LEN), *window = malloc(32768);
    struct side side;
    z_stream s;

    memset(&s, 0, sizeof s);
    CHECK(deflateInit2(&s, 6, Z_DEFLATED, -15, 8, 0) == Z_OK);
    s.next_in = text;
    s.avail_in = LEN;
    s.next_out = packed;
    s.avail_out = 2 * LEN;
    CHECK(deflate(&s, Z_FINISH) == Z_STREAM_END && deflateEnd(&s) == Z_OK);
    side.in = packed;
    side.left = (unsigned)s.total_out;
    side.out = back;
    memset(&s, 0, sizeof s);
    CHECK(inflateBackInit(&s, 15, window) == Z_OK);
    CHECK(inflateBack(&s, give, &side, take, &side) == Z_STREAM_END);
    CHECK(side.out == back + LEN && memcmp(back, text, LEN) == 0);
    side.in = packed;
    side.left = 100;
    side.out = back;
    s.avail_in = 0;
    CHECK(inflateBack(&s, give, &side, take, &side) == Z_BUF_ERROR && s.next_in == NULL);
    CHECK(inflateBackEnd(&s) == Z_OK);
    free(packed);
    free(back);
    free(window);
}

static int print(gzFile file, const char *format, ...)
{
    va_list arguments;
    int result;

    va_start(arguments, format);
    result = gzvprintf(file, format, arguments);
    va_end(arguments);
    return result;
}

static void files(const char *path)
{
    char line[300], *big = malloc(20001);
    gzFile f;
    int n, number;

    CHECK((f = gzopen(path, "wb")) != NULL);
    CHECK(gzbuffer(f, 1000) == 0 && gzdirect(f) == 0);
    CHECK(gzputc(f, 'h') == 'h' && gzputs(f, "ello\n") == 5 && gzputs(f, "") == 0);
    CHECK(gzbuffer(f, 1000) == -1);
    CHECK(gzprintf(f, "%s %d%c", "number", 42, '\n') == 10 && print(f, "%5.2f|\n", 3.14159) == 7);
    CHECK(gzprintf(f, "%s", "") == 0);
    memset(big, 'x', 20000);
    big[20000] = 0;
    CHECK(gzprintf(f, "%s", big) == 0);
    CHECK(gzprintf(f, "%s", big + 19000) == 0); /* 1,000: with its zero it is one too long */
    for (n = 0; n < 500; n++)
        CHECK(gzprintf(f, "%s", big + 20000 - 999 + n) == 999 - n);
    CHECK(gztell(f) == 23 + 999 * 500 - 499 * 500 / 2);
    CHECK(gzflush(f, Z_SYNC_FLUSH) == Z_OK && gzflush(f, 9) == Z_STREAM_ERROR);
    CHECK(gzoffset(f) > 0 && gzoffset64(f) == gzoffset(f));
    CHECK(gzsetparams(f, 1, Z_FILTERED) == Z_OK);
    /* A seek that fails takes the one before it back. */
    CHECK(gzseek(f, 10, SEEK_CUR) == gztell(f) && gzseek(f, 5, SEEK_SET) == -1);
    CHECK(gzseek64(f, 3, SEEK_CUR) == gztell64(f));
    CHECK(gzwrite(f, text, LEN) == LEN && gzfwrite(text, 10, 5, f) == 5);
    CHECK(gzwrite(f, text, 0) == 0 && gzread(f, line, 5) == -1);
    CHECK(gzclose_r(f) == Z_STREAM_ERROR && gzeof(f) == 0);
    CHECK(gzclose_w(f) == Z_OK);
    CHECK((f = gzopen64(path, "ab9")) != NULL);
    CHECK(gzputs(f, "appended") == 8 && gzclose(f) == Z_OK);

    CHECK((f = gzopen(path, "rb")) != NULL && gzdirect(f) == 0);
    CHECK(gzgets(f, line, 1) == NULL && gzgets(f, line, sizeof line) == line);
    CHECK(!strcmp(line, "hello\n") && gzgets(f, line, 4) && !strcmp(line, "num") && gztell(f) == 9);
    CHECK(gzungetc('X', f) == 'X' && gzgetc(f) == 'X' && (gzgetc)(f) == 'b' && gzgetc_(f) == 'e');
    CHECK(gzungetc(-1, f) == -1 && gzgets(f, line, sizeof line) && !strcmp(line, "r 42\n"));
    CHECK(gzgets(f, line, sizeof line) && !strcmp(line, " 3.14|\n"));
    CHECK(gzseek(f, 23 + 999 * 500 - 499 * 500 / 2, SEEK_SET) > 0);
    CHECK(gzfread(line, 1, 3, f) == 3 && memcmp(line, "\0\0\0", 3) == 0);
    big = realloc(big, LEN);
    CHECK(gzread(f, big, LEN) == LEN && memcmp(big, text, LEN) == 0 && gzeof(f) == 0);
    CHECK(gzread(f, big, 100) == 58 && memcmp(big, text, 50) == 0 && memcmp(big + 50, "appended", 8) == 0);
    CHECK(gzeof(f) == 1 && gzread(f, big, 1) == 0 && gzgetc(f) == -1 && gzgets(f, line, 9) == NULL);
    CHECK(!strcmp(gzerror(f, &number), "") && number == Z_OK);
    gzclearerr(f);
    CHECK(gzeof(f) == 0 && gzrewind(f) == 0 && gztell(f) == 0 && gzgetc(f) == 'h');
    CHECK(gzseek(f, -5, SEEK_CUR) == -1 && gzseek(f, 0, SEEK_END) == -1);
    CHECK(gzwrite(f, text, 1) == 0 && gzclose_w(f) == Z_STREAM_ERROR && gzclose_r(f) == Z_OK);
    free(big);
}

static void nothing(int signal)
{
    (void)signal;
}

/* Half a file, through a pipe that has no more yet, and one that a signal interrupts. */
static void pipes(void)
{
    struct itimerval soon = {{0, 0}, {0, 50000}};
    struct sigaction action;
    char line[100];
    int ends[2], number;
    gzFile in, out;

    CHECK(pipe(ends) == 0 && (out = gzdopen(ends[1], "wb1")) != NULL && (in = gzdopen(ends[0], "rb")) != NULL);
    CHECK(gzwrite(out, "first\n", 6) == 6 && gzclose(out) == Z_OK);
    CHECK(gzgets(in, line, sizeof line) && !strcmp(line, "first\n") && gzgets(in, line, sizeof line) == NULL);
    CHECK(gzeof(in) && gzrewind(in) == -1 && gzclose(in) == Z_OK);

    CHECK(pipe2(ends, O_NONBLOCK) == 0 && (in = gzdopen(ends[0], "rb")) != NULL);
    CHECK(gzread(in, line, 10) == -1 && errno == EAGAIN);
    snprintf(line, sizeof line, "<fd:%d>: %s", ends[0], strerror(EAGAIN));
    CHECK(!strcmp(gzerror(in, &number), line) && number == Z_ERRNO);
    gzclearerr(in);
    CHECK(write(ends[1], "\37\213half", 6) == 6 && close(ends[1]) == 0);
    CHECK(gzread(in, line, 10) <= 0 && gzclose(in) != Z_STREAM_ERROR);

    CHECK(pipe(ends) == 0 && (in = gzdopen(ends[0], "rb")) != NULL);
    memset(&action, 0, sizeof action);
    action.sa_handler = nothing;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &soon, NULL) == 0);
    CHECK(gzread(in, line, 10) == -1 && errno == EINTR && gzerror(in, &number) && number == Z_ERRNO);
    gzclearerr(in);
    CHECK(write(ends[1], "plain", 5) == 5 && close(ends[1]) == 0);
    CHECK(gzread(in, line, 10) == 5 && gzdirect(in) == 1 && gzclose(in) == Z_OK);
    CHECK(gzdopen(-1, "r") == NULL && gzopen("/nowhere/at/all", "r") == NULL && errno == ENOENT);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    text = text_of(1, LEN);
    sums();
    whole();
    streams();
    back_and_forth();
    files(argv[1]);
    pipes();
    free(text);
    puts("ok");
    return 0;
}
