/* What the programs share. They know zlib.h alone, and run on any zlib. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);     \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

/* Text-like bytes, the same for the same seed. */
static inline unsigned char *text_of(unsigned seed, size_t len)
{
    unsigned char *text = malloc(len + 1);
    size_t i = 0;

    CHECK(text != NULL);
    while (i < len) {
        seed = seed * 1664525u + 1013904223u;
        if (i > 200 && seed >> 30) {
            size_t from = (seed >> 8) % (i - 100), n = 4 + (seed >> 4) % 60;
            while (n-- && i < len)
                text[i++] = text[from++];
        } else {
            text[i++] = (seed >> 24) % 7 ? 'a' + (seed >> 16) % 26 : seed >> 28 ? ' ' : '\n';
        }
    }
    text[len] = 0;
    return text;
}
#endif
