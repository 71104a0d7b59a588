/* The library opened and closed a hundred times, with work in between: reload LIBRARY [BYTES]. */
#include <dlfcn.h>
#include <zlib.h>

#include "check.h"

int main(int argc, char **argv)
{
    size_t len = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
    unsigned char *text = text_of(5, len), *back = malloc(len);
    uLong bound = len + len / 100 + 100, used;
    Bytef *packed = malloc(bound);
    int n;

    CHECK(argc > 1);
    for (n = 0; n < 100; n++) {
        void *library = dlopen(argv[1], n % 2 ? RTLD_NOW : RTLD_LAZY);
        int (*pack)(Bytef *, uLongf *, const Bytef *, uLong, int);
        int (*unpack)(Bytef *, uLongf *, const Bytef *, uLong);
        uLong packed_len = bound;

        if (library == NULL)
            fprintf(stderr, "%s\n", dlerror());
        CHECK(library != NULL);
        *(void **)&pack = dlsym(library, "compress2");
        *(void **)&unpack = dlsym(library, "uncompress");
        CHECK(pack != NULL && unpack != NULL);
        used = len;
        CHECK(pack(packed, &packed_len, text, len, 1 + n % 3) == Z_OK);
        CHECK(unpack(back, &used, packed, packed_len) == Z_OK && used == len && !memcmp(back, text, len));
        CHECK(dlclose(library) == 0);
    }
    free(text);
    free(back);
    free(packed);
    puts("ok");
    return 0;
}
