/* A gzip of the gz functions: minigzip [-d] [-c] [-1..-9] [-f|-h|-r] [-b SIZE] [FILE ...]
   Without files from the standard input to the standard output. FILE becomes FILE.gz, and with -d the
   other way round; with -c the result goes to the standard output, and FILE stays. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static size_t piece = 16384;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "minigzip: %s: %s\n", what, why);
    exit(1);
}

static const char *why(gzFile file)
{
    int number;
    const char *text = gzerror(file, &number);
    return number == Z_ERRNO ? strerror(errno) : text;
}

static void put(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0)
            die("output", strerror(errno));
        data += n;
        len -= (size_t)n;
    }
}

/* Takes over `packed`; `fd` stays open. */
static void compress_all(int fd, gzFile packed)
{
    char *buffer = malloc(piece);
    ssize_t n;

    if (packed == NULL || buffer == NULL)
        die("output", "cannot be opened");
    while ((n = read(fd, buffer, piece)) > 0)
        if (gzwrite(packed, buffer, (unsigned)n) != n)
            die("output", why(packed));
    if (n < 0)
        die("input", strerror(errno));
    free(buffer);
    if (gzclose(packed) != Z_OK)
        die("output", "not complete");
}

static void decompress_all(gzFile packed, int fd)
{
    char *buffer = malloc(piece);
    int n, number;

    if (packed == NULL || buffer == NULL)
        die("input", "cannot be opened");
    while ((n = gzread(packed, buffer, (unsigned)piece)) > 0)
        put(fd, buffer, (size_t)n);
    gzerror(packed, &number);
    if (n < 0 || number != Z_OK)
        die("input", why(packed));
    free(buffer);
    if (gzclose(packed) != Z_OK)
        die("input", "not complete");
}

static int opened(const char *path, int flags)
{
    int fd = open(path, flags, 0666);
    if (fd < 0)
        die(path, strerror(errno));
    return fd;
}

int main(int argc, char **argv)
{
    int back = 0, to_output = 0, i;
    char mode[5] = "wb6 ";

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        char option = argv[i][1];
        if (option == 'd')
            back = 1;
        else if (option == 'c')
            to_output = 1;
        else if (option >= '1' && option <= '9')
            mode[2] = option;
        else if (option == 'f' || option == 'h')
            mode[3] = option;
        else if (option == 'r')
            mode[3] = 'R';
        else if (option == 'b' && i + 1 < argc)
            piece = strtoul(argv[++i], NULL, 10);
        else
            die(argv[i], "no such option");
    }
    if (i == argc) {
        if (back)
            decompress_all(gzdopen(dup(0), "rb"), 1);
        else
            compress_all(0, gzdopen(dup(1), mode));
    }
    for (; i < argc; i++) {
        const char *from = argv[i];
        size_t len = strlen(from);
        char *to = malloc(len + 4);
        int fd;

        if (to == NULL)
            die(from, "out of memory");
        if (back) {
            if (len < 4 || strcmp(from + len - 3, ".gz") != 0)
                die(from, "does not end in .gz");
            memcpy(to, from, len - 3);
            to[len - 3] = 0;
            fd = to_output ? dup(1) : opened(to, O_WRONLY | O_CREAT | O_TRUNC);
            decompress_all(gzopen(from, "rb"), fd);
        } else {
            sprintf(to, "%s.gz", from);
            fd = opened(from, O_RDONLY);
            compress_all(fd, to_output ? gzdopen(dup(1), mode) : gzopen(to, mode));
        }
        close(fd);
        if (!to_output)
            unlink(from);
        free(to);
    }
    return 0;
}
