/* A parent that compresses, so that there may be threads, then 8 children that do: with streams and a
   file that the parent began. prefork [BYTES] */
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"

enum { CHILDREN = 8 };

static void round_trip(unsigned seed, size_t len)
{
    unsigned char *text = text_of(seed, len), *back = malloc(len);
    uLong packed_len = compressBound(len), used = len;
    Bytef *packed = malloc(packed_len);

    CHECK(compress2(packed, &packed_len, text, len, 1 + (int)seed % 9) == Z_OK);
    CHECK(uncompress(back, &used, packed, packed_len) == Z_OK && used == len && !memcmp(back, text, len));
    free(text);
    free(back);
    free(packed);
}

int main(int argc, char **argv)
{
    size_t len = argc > 1 ? strtoul(argv[1], NULL, 10) : 3000000;
    unsigned char *text = text_of(99, len), *back = malloc(len + 1);
    uLong bound = compressBound(len) + 100;
    Bytef *packed = malloc(bound);
    z_stream begun, s;
    int n, status;

    round_trip(1, len);
    memset(&begun, 0, sizeof begun);
    CHECK(deflateInit(&begun, 6) == Z_OK);
    begun.next_in = text;
    begun.avail_in = (unsigned)(len / 2);
    begun.next_out = packed;
    begun.avail_out = (unsigned)bound;
    CHECK(deflate(&begun, Z_NO_FLUSH) == Z_OK && begun.avail_in == 0);
    for (n = 0; n <= CHILDREN; n++) {
        pid_t child = n < CHILDREN ? fork() : 0;
        CHECK(child >= 0);
        if (child > 0)
            continue;
        /* Each child, and the parent at the end, goes on with the stream, and with others. */
        alarm(60);
        round_trip((unsigned)n, len);
        begun.avail_in = (unsigned)(len - len / 2);
        CHECK(deflate(&begun, Z_FINISH) == Z_STREAM_END);
        memset(&s, 0, sizeof s);
        CHECK(inflateInit(&s) == Z_OK);
        s.next_in = packed;
        s.avail_in = (unsigned)begun.total_out;
        s.next_out = back;
        s.avail_out = (unsigned)len + 1;
        CHECK(inflate(&s, Z_FINISH) == Z_STREAM_END && s.total_out == len && !memcmp(back, text, len));
        CHECK(inflateEnd(&s) == Z_OK && deflateEnd(&begun) == Z_OK);
        round_trip((unsigned)n + 20, len);
        if (n < CHILDREN) {
            free(text);
            free(back);
            free(packed);
            return 0; /* by exit: what the library does then must work in a child */
        }
    }
    for (n = 0; n < CHILDREN; n++) {
        CHECK(wait(&status) > 0);
        CHECK(status == 0);
    }
    free(text);
    free(back);
    free(packed);
    puts("ok");
    return 0;
}
