/* A card that misbehaves: it forwards to the library REAL, in its namespace, and fails at random, by SEED. Each number is
 * in percent of the calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpa.h"
#include "cpa_cy_ec.h"
#include "cpa_cy_ecdsa.h"
#include "cpa_cy_im.h"
#include "cpa_cy_rsa.h"
#include "cpa_cy_sym.h"
#include "cpa_dc.h"

#ifndef BUSY
#define BUSY 0
#endif
#ifndef REFUSE
#define REFUSE 0
#endif
#ifndef RESTART
#define RESTART 0
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef FLIP
#define FLIP 0
#endif
/* Bits of symmetric results, which nobody verifies. */
#ifndef FLIP_SYM
#define FLIP_SYM 0
#endif
#ifndef ERROR
#define ERROR 0
#endif
#ifndef HANG
#define HANG 0
#endif
/* This answer, counted from 1, never comes. */
#ifndef HANG_AT
#define HANG_AT 0
#endif
#ifndef CONTIGUOUS
#define CONTIGUOUS 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t state = SEED * 2654435761u + 88172645463325252ull;

static int happens(unsigned percent)
{
    pthread_mutex_lock(&lock);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    unsigned draw = (state >> 32) % 100;
    pthread_mutex_unlock(&lock);
    return draw < percent;
}

static void *real(const char *name)
{
    static void *handle;
    pthread_mutex_lock(&lock);
    if (!handle)
        handle = dlopen(REAL, RTLD_NOW);
    pthread_mutex_unlock(&lock);
    void *f = handle ? dlsym(handle, name) : NULL;
    if (!f) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        abort();
    }
    return f;
}

#define FORWARD(name, params, args)                     \
    CpaStatus name params                               \
    {                                                   \
        static CpaStatus(*f) params;                    \
        if (!f)                                         \
            f = (CpaStatus(*) params)real(#name);       \
        return f args;                                  \
    }

#ifdef NO_START
CpaStatus icp_sal_userStart(const char *section)
{
    (void)section;
    return CPA_STATUS_FAIL;
}
#else
FORWARD(icp_sal_userStart, (const char *section), (section))
#endif
FORWARD(cpaDcGetNumInstances, (Cpa16U * n), (n))
FORWARD(cpaDcGetInstances, (Cpa16U n, CpaInstanceHandle *all), (n, all))
FORWARD(cpaDcQueryCapabilities, (CpaInstanceHandle i, CpaDcInstanceCapabilities *c), (i, c))
FORWARD(cpaDcSetAddressTranslation, (CpaInstanceHandle i, CpaVirtualToPhysical to), (i, to))
FORWARD(cpaDcBufferListGetMetaSize, (CpaInstanceHandle i, Cpa32U n, Cpa32U *size), (i, n, size))
FORWARD(cpaDcDeflateCompressBound, (CpaInstanceHandle i, CpaDcHuffType h, Cpa32U n, Cpa32U *bound), (i, h, n, bound))
FORWARD(cpaDcGetSessionSize, (CpaInstanceHandle i, CpaDcSessionSetupData *d, Cpa32U *size, Cpa32U *context),
        (i, d, size, context))
FORWARD(cpaDcRemoveSession, (CpaInstanceHandle i, CpaDcSessionHandle s), (i, s))

FORWARD(cpaCyGetNumInstances, (Cpa16U * n), (n))
FORWARD(cpaCyGetInstances, (Cpa16U n, CpaInstanceHandle *all), (n, all))
FORWARD(cpaCyQueryCapabilities, (CpaInstanceHandle i, CpaCyCapabilitiesInfo *c), (i, c))
FORWARD(cpaCySymQueryCapabilities, (CpaInstanceHandle i, CpaCySymCapabilitiesInfo *c), (i, c))
FORWARD(cpaCySetAddressTranslation, (CpaInstanceHandle i, CpaVirtualToPhysical to), (i, to))
FORWARD(cpaCyStartInstance, (CpaInstanceHandle i), (i))
FORWARD(cpaCyBufferListGetMetaSize, (CpaInstanceHandle i, Cpa32U n, Cpa32U *size), (i, n, size))
FORWARD(cpaCySymSessionCtxGetSize, (CpaInstanceHandle i, const CpaCySymSessionSetupData *d, Cpa32U *size), (i, d, size))
FORWARD(cpaCySymRemoveSession, (CpaInstanceHandle i, CpaCySymSessionCtx s), (i, s))

#define INFO(name)                                                    \
    CpaStatus name(CpaInstanceHandle i, CpaInstanceInfo2 *info)       \
    {                                                                 \
        static CpaStatus (*f)(CpaInstanceHandle, CpaInstanceInfo2 *); \
        if (!f)                                                       \
            f = real(#name);                                          \
        CpaStatus status = f(i, info);                                \
        if (CONTIGUOUS)                                               \
            info->requiresPhysicallyContiguousMemory = CPA_TRUE;      \
        return status;                                                \
    }

INFO(cpaCyInstanceGetInfo2)
INFO(cpaDcInstanceGetInfo2)

/* Pinned memory: what the card is given must lie in it. */
static struct { char *start; size_t len; } pinned[4096];

void *qaeMemAllocNUMA(size_t size, int node, size_t alignment)
{
    void *memory = NULL;
    (void)node;
    if (posix_memalign(&memory, alignment, size))
        return NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 4096; i++)
        if (!pinned[i].start) {
            pinned[i].start = memory;
            pinned[i].len = size;
            break;
        }
    pthread_mutex_unlock(&lock);
    return memory;
}

void qaeMemFreeNUMA(void **memory)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 4096 && !found; i++)
        if (pinned[i].start == *memory) {
            pinned[i].start = NULL;
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    if (!found) {
        fprintf(stderr, "freed, but not of this library\n");
        abort();
    }
    free(*memory);
    *memory = NULL;
}

#ifndef NO_USDM
uint64_t qaeVirtToPhysNUMA(void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}
#endif

static void check(const void *memory, size_t len)
{
    if (!CONTIGUOUS)
        return;
    pthread_mutex_lock(&lock);
    int found = 0;
    for (int i = 0; i < 4096 && !found; i++)
        found = pinned[i].start && (char *)memory >= pinned[i].start &&
                (char *)memory + len <= pinned[i].start + pinned[i].len;
    pthread_mutex_unlock(&lock);
    if (!found) {
        fprintf(stderr, "the card was given memory that is not pinned\n");
        abort();
    }
}

/* An instance wants one intermediate buffer where it wants contiguous memory. */
CpaStatus cpaDcGetNumIntermediateBuffers(CpaInstanceHandle i, Cpa16U *n)
{
    (void)i;
    *n = CONTIGUOUS;
    return CPA_STATUS_SUCCESS;
}

CpaStatus cpaDcStartInstance(CpaInstanceHandle i, Cpa16U n, CpaBufferList **lists)
{
    CpaStatus (*f)(CpaInstanceHandle, Cpa16U, CpaBufferList **) = real("cpaDcStartInstance");
    for (int one = 0; one < n; one++) {
        check(lists[one]->pBuffers->pData, lists[one]->pBuffers->dataLenInBytes);
        check(lists[one]->pPrivateMetaData, 1);
    }
    return f(i, 0, NULL);
}

/* One request, on its way; of which service it is, what its callback gets. */
struct call {
    void *tag;
    CpaInstanceHandle instance;
    CpaStatus status;
    enum { DC, SYM, ONE, TWO } kind;
    /* Of compression. */
    CpaBufferList *dst;
    CpaDcRqResults *results;
    /* Of symmetric requests. */
    CpaCySymOp operation;
    CpaBoolean valid;
    /* Of public keys. */
    CpaCyGenFlatBufCbFunc one_callback;
    CpaCyEcPointMultiplyCbFunc two_callback;
    CpaFlatBuffer *out[2];
    void *op;
    struct call *next;
};

static CpaDcCallbackFn callback;
static CpaCySymCbFunc sym_callback;
static struct call *late;

static void flip(Cpa8U *bytes, size_t len)
{
    if (len)
        bytes[state % len] ^= 1 << state % 8;
}

static void answer(struct call *call)
{
    CpaStatus status = call->status;
    int error = happens(ERROR);
    if (error)
        status = CPA_STATUS_FAIL;
    switch (call->kind) {
    case DC:
        if (happens(FLIP))
            flip(call->dst->pBuffers->pData, call->results->produced);
        if (error)
            call->results->status = CPA_DC_FATALERR;
        callback(call->tag, status);
        break;
    case SYM:
        if (happens(FLIP_SYM))
            flip(call->dst->pBuffers->pData, call->dst->pBuffers->dataLenInBytes);
        sym_callback(call->tag, status, call->operation, call->op, call->dst, call->valid);
        break;
    case ONE:
        if (happens(FLIP))
            flip(call->out[0]->pData, call->out[0]->dataLenInBytes);
        call->one_callback(call->tag, status, call->op, call->out[0]);
        break;
    case TWO:
        if (happens(FLIP))
            flip(call->out[state >> 8 & 1]->pData, call->out[0]->dataLenInBytes);
        call->two_callback(call->tag, status, call->op, call->valid, call->out[0], call->out[1]);
        break;
    }
    free(call);
}

static void came(struct call *call, CpaStatus status)
{
    call->status = status;
    /* Never. */
    static unsigned count;
    if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == HANG_AT || happens(HANG))
        return;
    if (happens(LATE)) {
        pthread_mutex_lock(&lock);
        call->next = late;
        late = call;
        pthread_mutex_unlock(&lock);
        return;
    }
    answer(call);
}

static void answered(void *tag, CpaStatus status)
{
    came(tag, status);
}

static void sym_answered(void *tag, CpaStatus status, const CpaCySymOp operation, void *op, CpaBufferList *dst,
                         CpaBoolean valid)
{
    struct call *call = tag;
    call->operation = operation;
    call->op = op;
    call->dst = dst;
    call->valid = valid;
    came(call, status);
}

static void one_answered(void *tag, CpaStatus status, void *op, CpaFlatBuffer *out)
{
    struct call *call = tag;
    call->op = op;
    call->out[0] = out;
    came(call, status);
}

static void two_answered(void *tag, CpaStatus status, void *op, CpaBoolean valid, CpaFlatBuffer *a, CpaFlatBuffer *b)
{
    struct call *call = tag;
    call->op = op;
    call->valid = valid;
    call->out[0] = a;
    call->out[1] = b;
    came(call, status);
}

/* What is not even forwarded. */
static CpaStatus refusal(void)
{
    if (happens(BUSY))
        return CPA_STATUS_RETRY;
    if (happens(REFUSE))
        return CPA_STATUS_FAIL;
    if (happens(RESTART))
        return CPA_STATUS_RESTARTING;
    return CPA_STATUS_SUCCESS;
}

static struct call *began(CpaInstanceHandle i, void *tag, int kind)
{
    struct call *call = calloc(1, sizeof *call);
    call->tag = tag;
    call->instance = i;
    call->kind = kind;
    return call;
}

CpaStatus cpaDcInitSession(CpaInstanceHandle i, CpaDcSessionHandle s, CpaDcSessionSetupData *d, CpaBufferList *context,
                           CpaDcCallbackFn f)
{
    CpaStatus (*init)(CpaInstanceHandle, CpaDcSessionHandle, CpaDcSessionSetupData *, CpaBufferList *,
                      CpaDcCallbackFn) = real("cpaDcInitSession");
    callback = f;
    return init(i, s, d, context, answered);
}

static CpaStatus submit(const char *name, CpaInstanceHandle i, CpaDcSessionHandle s, CpaBufferList *src,
                        CpaBufferList *dst, CpaDcOpData *op, CpaDcRqResults *results, void *tag)
{
    CpaStatus (*f)(CpaInstanceHandle, CpaDcSessionHandle, CpaBufferList *, CpaBufferList *, CpaDcOpData *,
                   CpaDcRqResults *, void *) = real(name);
    CpaStatus refused = refusal();
    if (refused != CPA_STATUS_SUCCESS)
        return refused;
    check(src->pBuffers->pData, src->pBuffers->dataLenInBytes);
    check(dst->pBuffers->pData, dst->pBuffers->dataLenInBytes);
    check(src->pPrivateMetaData, 1);
    check(dst->pPrivateMetaData, 1);
    check(s, 1);
    struct call *call = began(i, tag, DC);
    call->dst = dst;
    call->results = results;
    CpaStatus status = f(i, s, src, dst, op, results, call);
    if (status != CPA_STATUS_SUCCESS)
        free(call);
    return status;
}

CpaStatus cpaCySymInitSession(CpaInstanceHandle i, const CpaCySymCbFunc f, const CpaCySymSessionSetupData *d,
                              CpaCySymSessionCtx s)
{
    CpaStatus (*init)(CpaInstanceHandle, CpaCySymCbFunc, const CpaCySymSessionSetupData *, CpaCySymSessionCtx) =
        real("cpaCySymInitSession");
    sym_callback = f;
    check(s, 1);
    return init(i, sym_answered, d, s);
}

CpaStatus cpaCySymPerformOp(CpaInstanceHandle i, void *tag, const CpaCySymOpData *op, const CpaBufferList *src,
                            CpaBufferList *dst, CpaBoolean *valid)
{
    CpaStatus (*f)(CpaInstanceHandle, void *, const CpaCySymOpData *, const CpaBufferList *, CpaBufferList *,
                   CpaBoolean *) = real("cpaCySymPerformOp");
    CpaStatus refused = refusal();
    if (refused != CPA_STATUS_SUCCESS)
        return refused;
    check(src->pBuffers->pData, src->pBuffers->dataLenInBytes);
    check(dst->pBuffers->pData, dst->pBuffers->dataLenInBytes);
    check(src->pPrivateMetaData, 1);
    check(op->sessionCtx, 1);
    check(op->pIv, op->ivLenInBytes);
    check(op->pDigestResult, 4);
    check(op->pAdditionalAuthData, 16);
    struct call *call = began(i, tag, SYM);
    CpaStatus status = f(i, call, op, src, dst, valid);
    if (status != CPA_STATUS_SUCCESS)
        free(call);
    return status;
}

CpaStatus cpaCyRsaDecrypt(CpaInstanceHandle i, const CpaCyGenFlatBufCbFunc callback, void *tag,
                          const CpaCyRsaDecryptOpData *op, CpaFlatBuffer *out)
{
    CpaStatus (*f)(CpaInstanceHandle, CpaCyGenFlatBufCbFunc, void *, const CpaCyRsaDecryptOpData *, CpaFlatBuffer *) =
        real("cpaCyRsaDecrypt");
    CpaStatus refused = refusal();
    if (refused != CPA_STATUS_SUCCESS)
        return refused;
    const CpaCyRsaPrivateKeyRep2 *key = &op->pRecipientPrivateKey->privateKeyRep2;
    check(op->inputData.pData, op->inputData.dataLenInBytes);
    check(key->prime1P.pData, key->prime1P.dataLenInBytes);
    check(key->coefficientQInv.pData, key->coefficientQInv.dataLenInBytes);
    check(out->pData, out->dataLenInBytes);
    struct call *call = began(i, tag, ONE);
    call->one_callback = callback;
    CpaStatus status = f(i, one_answered, call, op, out);
    if (status != CPA_STATUS_SUCCESS)
        free(call);
    return status;
}

CpaStatus cpaCyEcdsaSignRS(CpaInstanceHandle i, const CpaCyEcdsaSignRSCbFunc callback, void *tag,
                           const CpaCyEcdsaSignRSOpData *op, CpaBoolean *valid, CpaFlatBuffer *r, CpaFlatBuffer *s)
{
    CpaStatus (*f)(CpaInstanceHandle, CpaCyEcdsaSignRSCbFunc, void *, const CpaCyEcdsaSignRSOpData *, CpaBoolean *,
                   CpaFlatBuffer *, CpaFlatBuffer *) = real("cpaCyEcdsaSignRS");
    CpaStatus refused = refusal();
    if (refused != CPA_STATUS_SUCCESS)
        return refused;
    check(op->d.pData, op->d.dataLenInBytes);
    check(op->k.pData, op->k.dataLenInBytes);
    check(r->pData, r->dataLenInBytes);
    check(s->pData, s->dataLenInBytes);
    struct call *call = began(i, tag, TWO);
    call->two_callback = callback;
    CpaStatus status = f(i, two_answered, call, op, valid, r, s);
    if (status != CPA_STATUS_SUCCESS)
        free(call);
    return status;
}

CpaStatus cpaCyEcPointMultiply(CpaInstanceHandle i, const CpaCyEcPointMultiplyCbFunc callback, void *tag,
                               const CpaCyEcPointMultiplyOpData *op, CpaBoolean *valid, CpaFlatBuffer *x,
                               CpaFlatBuffer *y)
{
    CpaStatus (*f)(CpaInstanceHandle, CpaCyEcPointMultiplyCbFunc, void *, const CpaCyEcPointMultiplyOpData *,
                   CpaBoolean *, CpaFlatBuffer *, CpaFlatBuffer *) = real("cpaCyEcPointMultiply");
    CpaStatus refused = refusal();
    if (refused != CPA_STATUS_SUCCESS)
        return refused;
    check(op->k.pData, op->k.dataLenInBytes);
    check(x->pData, x->dataLenInBytes);
    struct call *call = began(i, tag, TWO);
    call->two_callback = callback;
    CpaStatus status = f(i, two_answered, call, op, valid, x, y);
    if (status != CPA_STATUS_SUCCESS)
        free(call);
    return status;
}

CpaStatus cpaDcCompressData2(CpaInstanceHandle i, CpaDcSessionHandle s, CpaBufferList *src, CpaBufferList *dst,
                             CpaDcOpData *op, CpaDcRqResults *results, void *tag)
{
    return submit("cpaDcCompressData2", i, s, src, dst, op, results, tag);
}

CpaStatus cpaDcDecompressData2(CpaInstanceHandle i, CpaDcSessionHandle s, CpaBufferList *src, CpaBufferList *dst,
                               CpaDcOpData *op, CpaDcRqResults *results, void *tag)
{
    return submit("cpaDcDecompressData2", i, s, src, dst, op, results, tag);
}

static CpaStatus poll(const char *name, CpaInstanceHandle i, Cpa32U quota)
{
    CpaStatus (*f)(CpaInstanceHandle, Cpa32U) = real(name);
    struct call *mine = NULL;
    pthread_mutex_lock(&lock);
    for (struct call **at = &late; *at;) {
        struct call *call = *at;
        if (call->instance == i) {
            *at = call->next;
            call->next = mine;
            mine = call;
        } else {
            at = &call->next;
        }
    }
    pthread_mutex_unlock(&lock);
    CpaStatus status = f(i, quota);
    while (mine) {
        struct call *next = mine->next;
        if (happens(50)) {
            answer(mine);
        } else {
            pthread_mutex_lock(&lock);
            mine->next = late;
            late = mine;
            pthread_mutex_unlock(&lock);
        }
        mine = next;
    }
    return status;
}

CpaStatus icp_sal_DcPollInstance(CpaInstanceHandle i, Cpa32U quota)
{
    return poll("icp_sal_DcPollInstance", i, quota);
}

CpaStatus icp_sal_CyPollInstance(CpaInstanceHandle i, Cpa32U quota)
{
    return poll("icp_sal_CyPollInstance", i, quota);
}
