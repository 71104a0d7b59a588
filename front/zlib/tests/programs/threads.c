/* 64 threads, each with files, streams and whole buffers of its own: threads FOLDER [BYTES]. */
#include <pthread.h>
#include <zlib.h>

#include "check.h"

enum { THREADS = 64 };

static const char *folder;
static size_t len = 300000;

static void *work(void *argument)
{
    unsigned number = (unsigned)(size_t)argument;
    unsigned char *text = text_of(number, len), *back = malloc(len);
    uLong bound = 2 * compressBound(len), packed_len = bound, used = len;
    Bytef *packed = malloc(bound);
    char path[1000], mode[4] = {'w', 'b', (char)('1' + number % 9), 0};
    z_stream s;
    gzFile f;
    size_t n;

    CHECK(packed != NULL && back != NULL);
    CHECK(compress2(packed, &packed_len, text, len, (int)number % 10) == Z_OK);
    CHECK(uncompress(back, &used, packed, packed_len) == Z_OK && used == len && !memcmp(back, text, len));

    memset(&s, 0, sizeof s);
    CHECK(deflateInit2(&s, (int)number % 10, Z_DEFLATED, 31, 8, 0) == Z_OK);
    s.next_in = text;
    s.next_out = packed;
    s.avail_out = (unsigned)bound;
    for (n = 0; n < len; n += s.next_in - text - n) {
        size_t piece = 1000 + number * 100;
        s.avail_in = (unsigned)(len - n < piece ? len - n : piece);
        CHECK(deflate(&s, number % 2 ? Z_NO_FLUSH : Z_BLOCK) == Z_OK && s.avail_in == 0);
    }
    CHECK(deflate(&s, Z_FINISH) == Z_STREAM_END);
    packed_len = s.total_out;
    CHECK(deflateEnd(&s) == Z_OK);
    memset(&s, 0, sizeof s);
    memset(back, 0, len);
    CHECK(inflateInit2(&s, 47) == Z_OK);
    s.next_in = packed;
    s.avail_in = (unsigned)packed_len;
    s.next_out = back;
    while (s.total_out < len) {
        s.avail_out = (unsigned)(len - s.total_out < 4000 ? len - s.total_out : 4000);
        CHECK(inflate(&s, Z_NO_FLUSH) >= Z_OK);
    }
    CHECK(!memcmp(back, text, len) && inflateEnd(&s) == Z_OK);

    snprintf(path, sizeof path, "%s/%u.gz", folder, number);
    CHECK((f = gzopen(path, mode)) != NULL);
    for (n = 0; n < len; n += 5000)
        CHECK(gzwrite(f, text + n, (unsigned)(len - n < 5000 ? len - n : 5000)) > 0);
    CHECK(gzclose(f) == Z_OK);
    memset(back, 0, len);
    CHECK((f = gzopen(path, "rb")) != NULL);
    CHECK((size_t)gzread(f, back, (unsigned)len) == len && gzread(f, path, 1) == 0 && gzclose(f) == Z_OK);
    CHECK(!memcmp(back, text, len));
    free(text);
    free(back);
    free(packed);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    size_t n;

    CHECK(argc >= 2);
    folder = argv[1];
    if (argc > 2)
        len = strtoul(argv[2], NULL, 10);
    for (n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, work, (void *)n) == 0);
    for (n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    puts("ok");
    return 0;
}
