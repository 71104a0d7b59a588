/* Compiled and run by c_api.rs: what a C program sees of libcf. */
#include "cf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                            \
    do {                                                                    \
        if (!(x)) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);         \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

enum { SIZE = 1000003 };

static unsigned char *text(void)
{
    static const char *words[] = {"the ", "parallel ", "compression ", "of ", "chunks ", "\n"};
    unsigned char *data = malloc(SIZE);
    unsigned x = 1, at = 0;
    while (at < SIZE) {
        const char *w = words[(x = x * 1103515245u + 12345u) >> 16 & 3 ? x >> 20 & 3 : 4 + (x >> 20 & 1)];
        while (*w && at < SIZE)
            data[at++] = (unsigned char)*w++;
    }
    return data;
}

/* A provider of stored DEFLATE blocks. Refuses small destinations the first time. */
static int calls;

static int store(void *opaque, const struct CfParams *params, const unsigned char *src, int size,
                 unsigned char *dst, int room, int *produced)
{
    CHECK(opaque == &calls && params->level == 1);
    calls++;
    if (size > 65535)
        return CF_E_DEVICE;
    if (room < size * 2 + 5)
        return CF_E_OVERFLOW;
    dst[0] = 1;
    dst[1] = size & 255;
    dst[2] = size >> 8;
    dst[3] = ~dst[1];
    dst[4] = ~dst[2];
    memcpy(dst + 5, src, size);
    *produced = size + 5;
    return CF_OK;
}

static int unstore(void *opaque, const struct CfParams *params, const unsigned char *src, int size,
                   unsigned char *dst, int room, int *produced)
{
    (void)params;
    CHECK(opaque == &calls);
    if (size < 5 || src[0] != 1)
        return CF_E_BAD_DATA;
    if (room < size - 5)
        return CF_E_OVERFLOW;
    memcpy(dst, src + 5, size - 5);
    *produced = size - 5;
    return CF_OK;
}

static int lies(void *opaque, const struct CfParams *params, const unsigned char *src, int size,
                unsigned char *dst, int room, int *produced)
{
    (void)opaque, (void)params, (void)src, (void)size, (void)dst;
    *produced = room + 1;
    return CF_OK;
}

static void round_trip(char *from, char *to, struct CfParams params)
{
    struct CfProvider *p, *q;
    unsigned char *src = text(), *packed = malloc(2 * SIZE), *back = malloc(SIZE);
    int n = -1, m = -1, sizes[] = {0, 1, 65536, 65537, SIZE};
    CHECK(cfGetProvider(from, &p) == CF_OK && cfGetProvider(to, &q) == CF_OK);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i];
        CHECK(cfCompressBuffer(p, &params, src, size, packed, 2 * SIZE, &n) == CF_OK);
        /* The paper's layout. */
        int at = 0, blocks = 0;
        for (; at < n; blocks++)
            at += 4 + (packed[at] | packed[at + 1] << 8 | packed[at + 2] << 16 | packed[at + 3] << 24);
        CHECK(at == n && blocks >= (size + params.chunkSize - 1) / params.chunkSize);
        memset(back, 0, SIZE);
        CHECK(cfDecompressBuffer(q, &params, packed, n, back, size, &m) == CF_OK);
        CHECK(m == size && memcmp(src, back, size) == 0);
        if (size == 0)
            continue;
        /* Destinations that are too small. */
        CHECK(cfCompressBuffer(p, &params, src, size, packed, n - 1, &m) == CF_E_OVERFLOW && m == n);
        CHECK(cfCompressBuffer(p, &params, src, size, NULL, 0, &m) == CF_E_OVERFLOW && m == n);
        CHECK(cfCompressBuffer(p, &params, src, size, packed, n, &m) == CF_OK && m == n);
        CHECK(cfDecompressBuffer(q, &params, packed, n, back, size - 1, &m) == CF_E_OVERFLOW && m == 0);
        /* Damage. */
        CHECK(cfDecompressBuffer(q, &params, packed, n - 1, back, size, &m) == CF_E_BAD_DATA);
        CHECK(cfDecompressBuffer(q, &params, packed, 3, back, size, &m) == CF_E_BAD_DATA);
        packed[4] = 7; /* block type 3 */
        CHECK(cfDecompressBuffer(q, &params, packed, n, back, size, &m) == CF_E_BAD_DATA);
    }
    free(src), free(packed), free(back);
}

int main(void)
{
    struct CfParams params = CF_PARAMS_DEFAULT, bad;
    struct CfProvider *p, *same;
    unsigned char src[100] = {0}, dst[200];
    int n;

    CHECK(cfGetProvider("lookaside", &p) == CF_OK);
    CHECK(cfGetProvider("qat", &same) == CF_OK && same == p);
    CHECK(cfGetProvider("nobody", &same) == CF_E_PROVIDER && same == NULL);
    CHECK(cfGetProvider("model:nothing", &same) == CF_E_PROVIDER && same == NULL);
    CHECK(cfGetProvider(NULL, &same) == CF_E_ARGUMENT);
    CHECK(cfGetProvider("zlib", NULL) == CF_E_ARGUMENT);

    /* Arguments. */
    CHECK(cfCompressBuffer(NULL, &params, src, 100, dst, 200, &n) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer((struct CfProvider *)&params, &params, src, 100, dst, 200, &n) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer(p, NULL, src, 100, dst, 200, &n) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer(p, &params, NULL, 100, dst, 200, &n) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer(p, &params, src, -1, dst, 200, &n) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer(p, &params, src, 100, NULL, 200, &n) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer(p, &params, src, 100, dst, -200, &n) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer(p, &params, src, 100, dst, 200, NULL) == CF_E_ARGUMENT);
    CHECK(cfCompressBuffer(p, &params, src, 100, src + 50, 50, &n) == CF_E_ARGUMENT);
    CHECK(cfDecompressBuffer(p, &params, NULL, 100, dst, 200, &n) == CF_E_ARGUMENT);
    CHECK(cfDecompressBuffer(p, &params, NULL, 0, NULL, 0, &n) == CF_OK && n == 0);
    bad = params, bad.level = 99;
    CHECK(cfCompressBuffer(p, &bad, src, 100, dst, 200, &n) == CF_E_PARAM);
    bad = params, bad.chunkSize = -1;
    CHECK(cfCompressBuffer(p, &bad, src, 100, dst, 200, &n) == CF_E_PARAM);

    /* Registration. */
    struct CfProviderOps ops = {store, unstore, &calls}, liar = {lies, lies, NULL}, none = {store, NULL, NULL};
    CHECK(cfRegisterProvider("store", &ops) == CF_OK);
    CHECK(cfRegisterProvider("store", &ops) == CF_E_EXISTS);
    CHECK(cfRegisterProvider("zlib", &ops) == CF_E_EXISTS);
    CHECK(cfRegisterProvider("qat", &ops) == CF_E_EXISTS);
    CHECK(cfRegisterProvider("model:mine", &ops) == CF_E_EXISTS);
    CHECK(cfRegisterProvider(NULL, &ops) == CF_E_ARGUMENT);
    CHECK(cfRegisterProvider("x", NULL) == CF_E_ARGUMENT);
    CHECK(cfRegisterProvider("x", &none) == CF_E_ARGUMENT);
    CHECK(cfRegisterProvider("liar", &liar) == CF_OK);
    CHECK(cfGetProvider("liar", &p) == CF_OK);
    CHECK(cfCompressBuffer(p, &params, src, 100, dst, 200, &n) == CF_E_DEVICE && n == 0);

    /* Every provider reads what every other wrote. */
    round_trip("lookaside", "zlib", params);
    round_trip("zlib", "qat", params);
    params.level = 6, params.numThreads = 3, params.maxJobsOutstanding = 1, params.bStatic = 1;
    round_trip("zlib", "lookaside", params);
    round_trip("qat", "lookaside", params);
    round_trip("zlib", "model:chipset2019", params);
    params.level = 1, params.numThreads = 0, params.chunkSize = 20000;
    round_trip("store", "zlib", params);
    round_trip("store", "store", params);
    CHECK(calls > 0);

    CHECK(strlen(cfStrError(CF_OK)) > 0 && strcmp(cfStrError(CF_E_OVERFLOW), cfStrError(CF_E_DEVICE)) != 0);
    CHECK(cfStrError(12345) != NULL);
    puts("ok");
    return 0;
}
