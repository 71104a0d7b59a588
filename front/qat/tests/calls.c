/* A program as others write them: discovery, a session, requests with callbacks, the data plane, memory. What it
 * checks beyond tests in Rust is the way through the shared library, with our headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpa.h"
#include "cpa_cy_common.h"
#include "cpa_cy_im.h"
#include "cpa_dc.h"
#include "cpa_dc_capabilities.h"
#include "cpa_dc_chain.h"
#include "cpa_dc_dp.h"
#include "cpa_dev.h"
#include "icp_sal_poll.h"
#include "icp_sal_user.h"
#include "icp_sal_versions.h"
#include "qae_mem.h"

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "calls.c:%d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

#ifndef SAL_INFO2_DRIVER_SW_VERSION_TYPE
#error configure scripts look for it
#endif
#if !CPA_DC_API_VERSION_AT_LEAST(3, 2) || CPA_API_VERSION_LESS_THAN(5, 0)
#error the version
#endif

enum { REQUESTS = 16, SIZE = 40000 };

static int called;

static void done(void *tag, CpaStatus status)
{
    *(CpaStatus *)tag = status;
    called++;
}

static void plane(CpaDcDpOpData *operation)
{
    CHECK(operation->responseStatus == CPA_STATUS_SUCCESS);
    called++;
}

static CpaPhysicalAddr translate(void *address)
{
    return (CpaPhysicalAddr)qaeVirtToPhysNUMA(address);
}

int main(void)
{
    Cpa16U count = 0;
    Cpa32U size = 0, context = 1, bound = 0, meta = 0;
    CHECK(qaeMemInit() == 0);
    CHECK(icp_sal_userIsQatAvailable() == CPA_TRUE);
    CHECK(icp_sal_userStartMultiProcess("SHIM", CPA_FALSE) == CPA_STATUS_SUCCESS);
    CHECK(cpaDcGetNumInstances(&count) == CPA_STATUS_SUCCESS && count > 0);
    CpaInstanceHandle *instances = calloc(count, sizeof *instances);
    CHECK(instances != NULL && cpaDcGetInstances(count, instances) == CPA_STATUS_SUCCESS);
    CpaInstanceHandle instance = instances[count - 1];
    CpaInstanceInfo2 info;
    CHECK(cpaDcInstanceGetInfo2(instance, &info) == CPA_STATUS_SUCCESS);
    CHECK(info.requiresPhysicallyContiguousMemory == CPA_FALSE && info.isPolled == CPA_TRUE);
    CHECK(cpaDcSetAddressTranslation(instance, translate) == CPA_STATUS_SUCCESS);
    CHECK(cpaDcStartInstance(instance, 0, NULL) == CPA_STATUS_SUCCESS);
    CHECK(cpaDcBufferListGetMetaSize(instance, 1, &meta) == CPA_STATUS_SUCCESS);

    /* A structure by value. */
    CpaDcCapabilityReq ask = { CPA_DC_DEFLATE, CPA_DC_DIR_COMPRESS, CPA_DC_CAP_BOOL_STATELESS };
    CpaDcCapabilityResp answer;
    CHECK(cpaDcQueryCapabilityByType(instance, ask, &answer) == CPA_STATUS_SUCCESS);
    CHECK(answer.boolStatus == CPA_TRUE);
    CpaDcInstanceCapabilities capabilities;
    CHECK(cpaDcQueryCapabilities(instance, &capabilities) == CPA_STATUS_SUCCESS);
    CHECK(capabilities.statelessDeflateCompression == CPA_TRUE);

    CpaDcSessionSetupData setup;
    memset(&setup, 0, sizeof setup);
    setup.compLevel = CPA_DC_L1;
    setup.compType = CPA_DC_DEFLATE;
    setup.huffType = CPA_DC_HT_FULL_DYNAMIC;
    setup.sessDirection = CPA_DC_DIR_COMBINED;
    setup.sessState = CPA_DC_STATELESS;
    setup.checksum = CPA_DC_ADLER32;
    CHECK(cpaDcGetSessionSize(instance, &setup, &size, &context) == CPA_STATUS_SUCCESS);
    CHECK(context == 0);
    void *session = qaeMemAllocNUMA(size, info.nodeAffinity, 64);
    CHECK(session != NULL && qaePhysToVirtNUMA(qaeVirtToPhysNUMA(session)) == session);
    CHECK(cpaDcInitSession(instance, session, &setup, NULL, done) == CPA_STATUS_SUCCESS);
    CHECK(cpaDcDeflateCompressBound(instance, setup.huffType, SIZE, &bound) == CPA_STATUS_SUCCESS);

    /* There and back, many at once. */
    static Cpa8U text[SIZE], back[REQUESTS][SIZE];
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (Cpa8U)(i * i / 1000);
    Cpa8U *small[REQUESTS];
    CpaFlatBuffer from[REQUESTS], to[REQUESTS];
    CpaBufferList source[REQUESTS], destination[REQUESTS];
    CpaDcRqResults results[REQUESTS];
    CpaStatus status[REQUESTS];
    CpaDcOpData operation = { .flushFlag = CPA_DC_FLUSH_FINAL };
    for (int i = 0; i < REQUESTS; i++) {
        small[i] = qaeMemAllocNUMA(bound, 0, 64);
        CHECK(small[i] != NULL);
        from[i] = (CpaFlatBuffer){ SIZE - (Cpa32U)i, text };
        to[i] = (CpaFlatBuffer){ bound, small[i] };
        source[i] = (CpaBufferList){ 1, &from[i], NULL, NULL };
        destination[i] = (CpaBufferList){ 1, &to[i], NULL, NULL };
        CHECK(cpaDcCompressData2(instance, session, &source[i], &destination[i], &operation,
            &results[i], &status[i]) == CPA_STATUS_SUCCESS);
    }
    CHECK(called == 0 && cpaDcRemoveSession(instance, session) == CPA_STATUS_RETRY);
    while (called < REQUESTS)
        icp_sal_DcPollInstance(instance, 0);
    for (int i = 0; i < REQUESTS; i++) {
        CHECK(status[i] == CPA_STATUS_SUCCESS && results[i].status == CPA_DC_OK);
        from[i] = (CpaFlatBuffer){ results[i].produced, small[i] };
        to[i] = (CpaFlatBuffer){ SIZE, back[i] };
        CHECK(cpaDcDecompressData(instance, session, &source[i], &destination[i], &results[i],
            CPA_DC_FLUSH_FINAL, &status[i]) == CPA_STATUS_SUCCESS);
    }
    while (called < 2 * REQUESTS)
        icp_sal_DcPollInstance(instance, 0);
    for (int i = 0; i < REQUESTS; i++) {
        CHECK(results[i].produced == (Cpa32U)(SIZE - i) && results[i].endOfLastBlock == CPA_TRUE);
        CHECK(memcmp(text, back[i], SIZE - (size_t)i) == 0);
    }
    CHECK(cpaDcRemoveSession(instance, session) == CPA_STATUS_SUCCESS);

    /* The data plane. */
    CpaDcDpOpData *op = qaeMemAllocNUMA(sizeof *op, 0, 64);
    CHECK(op != NULL && cpaDcDpInitSession(instance, session, &setup) == CPA_STATUS_SUCCESS);
    CHECK(cpaDcDpRegCbFunc(instance, plane) == CPA_STATUS_SUCCESS);
    memset(op, 0, sizeof *op);
    op->dcInstance = instance;
    op->pSessionHandle = session;
    op->srcBuffer = qaeVirtToPhysNUMA(text);
    op->srcBufferLen = op->bufferLenToCompress = SIZE;
    op->destBuffer = qaeVirtToPhysNUMA(small[0]);
    op->destBufferLen = op->bufferLenForData = bound;
    op->sessDirection = CPA_DC_DIR_COMPRESS;
    op->thisPhys = qaeVirtToPhysNUMA(op);
    CHECK(cpaDcDpEnqueueOpBatch(1, &op, CPA_TRUE) == CPA_STATUS_SUCCESS);
    while (called < 2 * REQUESTS + 1)
        icp_sal_DcPollDpInstance(instance, 0);
    CHECK(op->results.consumed == SIZE && op->results.status == CPA_DC_OK);
    CHECK(cpaDcDpRemoveSession(instance, session) == CPA_STATUS_SUCCESS);

    /* Refusals, twice: one line. */
    setup.compType = CPA_DC_LZ4S;
    for (int i = 0; i < 2; i++)
        CHECK(cpaDcInitSession(instance, session, &setup, NULL, done) == CPA_STATUS_UNSUPPORTED);
    CpaDcStats stats;
    CHECK(cpaDcGetStats(instance, &stats) == CPA_STATUS_SUCCESS);
    CHECK(stats.numCompCompleted == REQUESTS + 1 && stats.numDecompCompleted == REQUESTS);
    CHECK(cpaDcStopInstance(instance) == CPA_STATUS_SUCCESS);
    for (int i = 0; i < REQUESTS; i++) {
        qaeMemFreeNUMA((void **)&small[i]);
        CHECK(small[i] == NULL);
    }
    qaeMemFreeNUMA(&session);
    qaeMemFreeNUMA((void **)&op);
    free(instances);
    CHECK(icp_sal_userStop() == CPA_STATUS_SUCCESS && icp_sal_userStop() == CPA_STATUS_FAIL);
    qaeMemDestroy();
    puts("all of it");
    return 0;
}
