/* A program on the headers of include/: AES-CBC by callback and by the data plane, AES-CCM at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpa.h"
#include "cpa_cy_im.h"
#include "cpa_cy_sym.h"
#include "cpa_cy_sym_dp.h"
#include "icp_sal_poll.h"
#include "icp_sal_user.h"

#define CHECK(call) do { \
    CpaStatus found = (call); \
    if (found != CPA_STATUS_SUCCESS) { \
        fprintf(stderr, "%s: %d\n", #call, found); \
        exit(1); \
    } \
} while (0)

/* SP 800-38A, F.2.1: the first two blocks. */
static Cpa8U key[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
static const Cpa8U plain[32] = {
    0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
    0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51};
static const Cpa8U sealed[32] = {
    0x76, 0x49, 0xab, 0xac, 0x81, 0x19, 0xb2, 0x46, 0xce, 0xe9, 0x8e, 0x9b, 0x12, 0xe9, 0x19, 0x7d,
    0x50, 0x86, 0xcb, 0x9b, 0x50, 0x72, 0x19, 0xee, 0x95, 0xdb, 0x11, 0x3a, 0x91, 0x76, 0x78, 0xb2};

static int answers;

static void done(void *tag, CpaStatus status, const CpaCySymOp op, void *data, CpaBufferList *dst, CpaBoolean verified)
{
    if (tag == &answers && status == CPA_STATUS_SUCCESS && op == CPA_CY_SYM_OP_CIPHER && data != NULL &&
        dst != NULL && verified == CPA_TRUE) {
        answers++;
    }
}

static void dp_done(CpaCySymDpOpData *data, CpaStatus status, CpaBoolean verified)
{
    if (data->pCallbackTag == &answers && status == CPA_STATUS_SUCCESS && verified == CPA_TRUE) {
        answers++;
    }
}

static void *session(CpaInstanceHandle instance, CpaCySymSessionSetupData *setup)
{
    Cpa32U size = 0;
    CHECK(cpaCySymSessionCtxGetSize(instance, setup, &size));
    return malloc(size);
}

int main(void)
{
    Cpa16U n = 0;
    CpaInstanceHandle instance;
    CHECK(icp_sal_userStartMultiProcess("SSL", CPA_FALSE));
    CHECK(cpaCyGetNumInstances(&n));
    CHECK(cpaCyGetInstances(1, &instance));
    CHECK(cpaCyStartInstance(instance));

    CpaCySymSessionSetupData setup = {0};
    setup.sessionPriority = CPA_CY_PRIORITY_NORMAL;
    setup.symOperation = CPA_CY_SYM_OP_CIPHER;
    setup.cipherSetupData.cipherAlgorithm = CPA_CY_SYM_CIPHER_AES_CBC;
    setup.cipherSetupData.cipherDirection = CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT;
    setup.cipherSetupData.pCipherKey = key;
    setup.cipherSetupData.cipherKeyLenInBytes = sizeof key;

    /* By callback. */
    void *context = session(instance, &setup);
    CHECK(cpaCySymInitSession(instance, done, &setup, context));
    Cpa8U iv[16], text[32];
    for (int i = 0; i < 16; i++) {
        iv[i] = (Cpa8U)i;
    }
    memcpy(text, plain, sizeof text);
    CpaFlatBuffer flat = {sizeof text, text};
    CpaBufferList list = {1, &flat, NULL, NULL};
    CpaCySymOpData data = {0};
    data.sessionCtx = context;
    data.packetType = CPA_CY_SYM_PACKET_TYPE_FULL;
    data.pIv = iv;
    data.ivLenInBytes = sizeof iv;
    data.messageLenToCipherInBytes = sizeof text;
    CHECK(cpaCySymPerformOp(instance, &answers, &data, &list, &list, NULL));
    while (answers < 1) {
        icp_sal_CyPollInstance(instance, 0);
    }
    CHECK(cpaCySymRemoveSession(instance, context));
    if (memcmp(text, sealed, sizeof text) != 0) {
        return 2;
    }

    /* By the data plane. */
    CHECK(cpaCySymDpRegCbFunc(instance, dp_done));
    CHECK(cpaCySymDpInitSession(instance, &setup, context));
    memcpy(text, plain, sizeof text);
    CpaCySymDpOpData dp = {0};
    dp.instanceHandle = instance;
    dp.sessionCtx = context;
    dp.iv = (CpaPhysicalAddr)(uintptr_t)iv;
    dp.ivLenInBytes = sizeof iv;
    dp.messageLenToCipherInBytes = sizeof text;
    dp.srcBuffer = dp.dstBuffer = (CpaPhysicalAddr)(uintptr_t)text;
    dp.srcBufferLen = dp.dstBufferLen = sizeof text;
    dp.pCallbackTag = &answers;
    CHECK(cpaCySymDpEnqueueOp(&dp, CPA_FALSE));
    CHECK(cpaCySymDpPerformOpNow(instance));
    while (answers < 2) {
        icp_sal_CyPollDpInstance(instance, 0);
    }
    CHECK(cpaCySymDpRemoveSession(instance, context));
    if (memcmp(text, sealed, sizeof text) != 0) {
        return 3;
    }

    /* At once: SP 800-38C, example 1, by the macros for CCM. */
    Cpa8U ccm_key[16], nonce[7], aad[8], block[48] = {0}, ccm_iv[16] = {0};
    Cpa8U message[8] = {0x20, 0x21, 0x22, 0x23};
    static const Cpa8U expected[8] = {0x71, 0x62, 0x01, 0x5b, 0x4d, 0xac, 0x25, 0x5d};
    for (int i = 0; i < 16; i++) {
        ccm_key[i] = (Cpa8U)(0x40 + i);
    }
    for (int i = 0; i < 7; i++) {
        nonce[i] = (Cpa8U)(0x10 + i);
    }
    for (int i = 0; i < 8; i++) {
        aad[i] = (Cpa8U)i;
    }
    setup.symOperation = CPA_CY_SYM_OP_ALGORITHM_CHAINING;
    setup.cipherSetupData.cipherAlgorithm = CPA_CY_SYM_CIPHER_AES_CCM;
    setup.cipherSetupData.pCipherKey = ccm_key;
    setup.hashSetupData.hashAlgorithm = CPA_CY_SYM_HASH_AES_CCM;
    setup.hashSetupData.hashMode = CPA_CY_SYM_HASH_MODE_AUTH;
    setup.hashSetupData.digestResultLenInBytes = 4;
    setup.hashSetupData.authModeSetupData.aadLenInBytes = sizeof aad;
    CHECK(cpaCySymInitSession(instance, NULL, &setup, context));
    data.pIv = ccm_iv;
    data.ivLenInBytes = sizeof nonce;
    data.pAdditionalAuthData = block;
    data.messageLenToCipherInBytes = 4;
    CPA_CY_SYM_CCM_SET_NONCE(&data, nonce, sizeof nonce);
    CPA_CY_SYM_CCM_SET_AAD(&data, aad, sizeof aad);
    flat.pData = message;
    flat.dataLenInBytes = sizeof message;
    CpaBoolean verified = CPA_FALSE;
    CHECK(cpaCySymPerformOp(instance, NULL, &data, &list, &list, &verified));
    CHECK(cpaCySymRemoveSession(instance, context));
    if (memcmp(message, expected, sizeof expected) != 0 || verified != CPA_TRUE) {
        return 4;
    }
    free(context);
    CHECK(cpaCyStopInstance(instance));
    CHECK(icp_sal_userStop());
    puts("sym.c: right");
    return 0;
}
