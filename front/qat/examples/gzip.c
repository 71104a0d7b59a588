/* Compresses standard input to a gzip file on standard output, 64 KB at a time, by QuickAssist's interface:
 *   cc gzip.c -o gzip $(pkg-config --cflags --libs qatlib libusdm) && ./gzip <FILE >FILE.gz */
#include <stdio.h>
#include <stdlib.h>

#include "cpa.h"
#include "cpa_dc.h"
#include "icp_sal_poll.h"
#include "icp_sal_user.h"
#include "qae_mem.h"

enum { PIECE = 65536 };

static void done(void *tag, CpaStatus status)
{
    *(CpaStatus *)tag = status;
}

static void *check(CpaStatus status, const char *what, void *memory)
{
    if (status == CPA_STATUS_SUCCESS && memory)
        return memory;
    fprintf(stderr, "%s: status %d\n", what, (int)status);
    exit(1);
}

int main(void)
{
    CpaInstanceHandle instance;
    CpaDcSessionSetupData setup = { .compLevel = CPA_DC_L1, .compType = CPA_DC_DEFLATE,
        .huffType = CPA_DC_HT_FULL_DYNAMIC, .autoSelectBestHuffmanTree = CPA_DC_ASB_ENABLED,
        .sessDirection = CPA_DC_DIR_COMPRESS, .sessState = CPA_DC_STATELESS,
        .windowSize = CPA_DC_WINSIZE_32K, .checksum = CPA_DC_CRC32 };
    Cpa32U size, context, bound, count;
    check(icp_sal_userStart("SSL"), "icp_sal_userStart", &setup);
    check(cpaDcGetInstances(1, &instance), "cpaDcGetInstances", &instance);
    check(cpaDcStartInstance(instance, 0, NULL), "cpaDcStartInstance", &setup);
    check(cpaDcGetSessionSize(instance, &setup, &size, &context), "cpaDcGetSessionSize", &setup);
    check(cpaDcDeflateCompressBound(instance, setup.huffType, PIECE, &bound), "bound", &setup);
    void *session = check(CPA_STATUS_SUCCESS, "memory", qaeMemAllocNUMA(size, 0, 64));
    Cpa8U *in = check(CPA_STATUS_SUCCESS, "memory", qaeMemAllocNUMA(PIECE, 0, 64));
    Cpa8U *out = check(CPA_STATUS_SUCCESS, "memory", qaeMemAllocNUMA(bound, 0, 64));
    check(cpaDcInitSession(instance, session, &setup, NULL, done), "cpaDcInitSession", session);

    CpaFlatBuffer from = { 0, in }, to = { bound, out };
    CpaBufferList source = { 1, &from, NULL, NULL }, destination = { 1, &to, NULL, NULL };
    CpaDcRqResults results = { 0 };
    CpaDcOpData operation = { .flushFlag = CPA_DC_FLUSH_FULL, .compressAndVerify = CPA_TRUE };
    check(cpaDcGenerateHeader(session, &to, &count), "cpaDcGenerateHeader", session);
    fwrite(out, 1, count, stdout);
    while (operation.flushFlag != CPA_DC_FLUSH_FINAL) {
        CpaStatus status = CPA_STATUS_RETRY;
        from.dataLenInBytes = (Cpa32U)fread(in, 1, PIECE, stdin);
        if (from.dataLenInBytes < PIECE)
            operation.flushFlag = CPA_DC_FLUSH_FINAL;
        check(cpaDcCompressData2(instance, session, &source, &destination, &operation, &results,
            &status), "cpaDcCompressData2", session);
        while (status == CPA_STATUS_RETRY)
            icp_sal_DcPollInstance(instance, 0);
        check(status, "compression", session);
        fwrite(out, 1, results.produced, stdout);
    }
    check(cpaDcGenerateFooter(session, &to, &results), "cpaDcGenerateFooter", session);
    fwrite(out, 1, 8, stdout);
    check(cpaDcRemoveSession(instance, session), "cpaDcRemoveSession", session);
    qaeMemFreeNUMA(&session);
    qaeMemFreeNUMA((void **)&in);
    qaeMemFreeNUMA((void **)&out);
    return icp_sal_userStop() != CPA_STATUS_SUCCESS || fflush(stdout) != 0;
}
