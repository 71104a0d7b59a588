/*
 * cf.h: the Compression Framework of "Programming Intel QuickAssist Technology Hardware Accelerators
 * for Optimal Performance" (2015), section 8.2.
 *
 * Synchronous functions that take arbitrarily long buffers, cut them into chunks, and let a
 * provider compress many chunks at once under the hood. Link with -lcf.
 *
 *     struct CfProvider *p;
 *     struct CfParams params = CF_PARAMS_DEFAULT;
 *     int n;
 *     if (cfGetProvider("lookaside", &p) == CF_OK
 *         && cfCompressBuffer(p, &params, src, srcSize, dst, dstSize, &n) == CF_OK)
 *         ...
 *
 * Compressed data: for each chunk, 4 bytes with the length of the block that follows (little
 * endian), and that block: a complete DEFLATE stream (RFC 1951). `parcomp --format cf` reads
 * and writes the same.
 *
 * All functions may be called from any thread at any time. Source and destination must not
 * overlap. There is no partial success: after an error, the destination holds nothing of use.
 */
#ifndef CF_H
#define CF_H

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. The numbers never change; new ones may be added. */
enum {
    CF_OK = 0,
    CF_E_ARGUMENT = -1,    /* a null pointer, a negative size, overlapping buffers */
    CF_E_PROVIDER = -2,    /* no provider has this name */
    CF_E_EXISTS = -3,      /* a provider of this name is registered already */
    CF_E_PARAM = -4,       /* a member of CfParams is outside its limits */
    CF_E_OVERFLOW = -5,    /* the destination is too small */
    CF_E_BAD_DATA = -6,    /* the compressed data is damaged */
    CF_E_UNSUPPORTED = -7, /* the provider cannot do this */
    CF_E_DEVICE = -8,      /* the provider failed */
    CF_E_SYSTEM = -9,      /* the operating system refused: threads, memory */
    CF_E_INTERNAL = -10    /* a defect of this library */
};

/* An implementation of compression. Lives until the process ends. */
struct CfProvider;

struct CfParams {
    int level;              /* 0 to 12; provider "zlib": 0 to 9 */
    int deflateWindowSize;  /* 0 to 5: 1 KB to 32 KB; or 9 to 15: its bits */
    int bStatic;            /* static instead of dynamic Huffman codes */
    int chunkSize;          /* in bytes, 1 to 2^30 */
    int maxJobsOutstanding; /* 1 (synchronous) to 256; 0: chosen from the engines */
    int bDebug;             /* say on standard error what is done */
    int numThreads;         /* 0: the calling thread; at most 256 */
    int coreAffinity;       /* mask of the cores for threads and engines; 0: any */
};

/* The paper's defaults, but with as many jobs outstanding as the engines want. */
#define CF_PARAMS_DEFAULT {1, 5, 0, 65536, 0, 0, 0, 0}

/* The provider of this name: "lookaside" (also "qat"), "zlib", "model:NAME" (the device with the speed of a
   timed model; NAME as for `lookaside model`), or a registered one. */
int cfGetProvider(char *name, struct CfProvider **ppProvider);

/*
 * Compresses. A destination of uncompressedBufferSize * 9 / 8 bytes and 100 more for each chunk
 * always suffices.
 *
 * On CF_E_OVERFLOW, *compressedDataSize is the size that is needed (0 if it exceeds an int).
 */
int cfCompressBuffer(struct CfProvider *pProvider,
                     struct CfParams *pParams,
                     unsigned char *uncompressedBuffer,
                     int uncompressedBufferSize,
                     unsigned char *compressedBuffer,
                     int compressedBufferSize,
                     int *compressedDataSize);

/*
 * Decompresses what cfCompressBuffer wrote, with any provider, level and chunk size.
 *
 * On CF_E_OVERFLOW, *uncompressedDataSize is 0: the size is not known.
 */
int cfDecompressBuffer(struct CfProvider *pProvider,
                       struct CfParams *pParams,
                       unsigned char *compressedBuffer,
                       int compressedBufferSize,
                       unsigned char *uncompressedBuffer,
                       int uncompressedBufferSize,
                       int *uncompressedDataSize);

/* What a number means, in English. Never null; lives until the process ends. */
const char *cfStrError(int status);

/* ---- the provider interface ------------------------------------------------------------- */

/*
 * Compresses or decompresses one chunk: a complete DEFLATE stream on the compressed side. Sets
 * *produced. Returns CF_OK; CF_E_OVERFLOW (it is called again with a larger destination);
 * CF_E_BAD_DATA; or CF_E_DEVICE. Called from several threads at once when numThreads > 0 or when
 * the application calls so.
 */
typedef int (*CfChunkFunction)(void *opaque,
                               const struct CfParams *pParams,
                               const unsigned char *src,
                               int srcSize,
                               unsigned char *dst,
                               int dstSize,
                               int *produced);

struct CfProviderOps {
    CfChunkFunction compress;
    CfChunkFunction decompress;
    void *opaque; /* handed to both */
};

/*
 * Adds a provider. The name and the structure are copied; the functions and what opaque points to
 * must stay until the process ends.
 */
int cfRegisterProvider(const char *name, const struct CfProviderOps *pOps);

#ifdef __cplusplus
}
#endif
#endif
