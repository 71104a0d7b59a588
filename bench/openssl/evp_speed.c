/* The loops of `openssl speed` over every symmetric algorithm that our provider offers, with and without it,
 * in turn within one process.
 *
 *   evp_speed [-m MS] [-r ROUNDS] [-b BAR] [-k] OPENSSL.CNF [NAME...]
 *
 * Two library contexts: one with OpenSSL's providers alone, one that prefers ours. Each row of the table is
 * an operation; each column a size in bytes; each figure the CPU time of OpenSSL's own provider divided by
 * ours, the median over ROUNDS of turns of MS milliseconds. What our provider leaves to the default provider
 * has no row. The last lines name every figure below BAR; the exit status is 1 if there is one.
 * OPENSSL.CNF loads our provider and prefers it. NAME: rows whose name contains one of these, in any case.
 * -k adds rows of a whole message with a key of its own.
 */
#define _GNU_SOURCE
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/tls1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZES = 6, MOST = 16384, SPARE = 1024, ROUNDS_MOST = 404, MISSED_MOST = 4096 };
static const int sizes[SIZES] = {16, 64, 256, 1024, 8192, 16384};

static int slice_ms = 2, rounds = 11;
static double bar = 0.98;
static int with_keys;
static char **wanted;
static int n_wanted;

static char missed[MISSED_MOST][160];
static int n_missed, n_figures;

static void die(const char *what)
{
    fprintf(stderr, "evp_speed: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(2);
}

#define CHECK(call) \
    do { \
        if ((call) <= 0) \
            die(#call); \
    } while (0)

static long long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* One operation in one library context. */
struct task {
    int (*step)(struct task *);
    EVP_MD *md;
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *cctx;
    EVP_MAC_CTX *mctx;
    int size;
    /* Which kind of TLS record; of GMAC, the key's length. */
    int record;
    /* Of a MAC whose keys are for one message each: their length. */
    int one_time;
    unsigned char sequence;
    unsigned char nonce[12];
    unsigned char buf[MOST + SPARE] __attribute__((aligned(64)));
};

static const unsigned char key[64] = "0123456789abcdefFEDCBA9876543210!edcba9876543210fEDCBa9876543210";
static const unsigned char iv[16] = "iviviviviviviviv";

static int step_digest(struct task *t)
{
    unsigned char out[EVP_MAX_MD_SIZE];
    return EVP_Digest(t->buf, t->size, out, NULL, t->md, NULL);
}

static int step_encrypt(struct task *t)
{
    int len;
    if (EVP_EncryptUpdate(t->cctx, t->buf, &len, t->buf, t->size) == 1)
        return 1;
    return EVP_CipherInit_ex(t->cctx, NULL, NULL, NULL, iv, -1);
}

static int step_decrypt(struct task *t)
{
    int len;
    if (EVP_DecryptUpdate(t->cctx, t->buf, &len, t->buf, t->size) == 1)
        return 1;
    return EVP_CipherInit_ex(t->cctx, NULL, NULL, NULL, iv, -1);
}

/* What `openssl speed` does with AEADs since 3.0.19 or so: a key and an IV for each message. */
static int step_aead(struct task *t)
{
    static const unsigned char aad[13] = {0xcc};
    int len, mode = EVP_CIPHER_CTX_get_mode(t->cctx);
    if (!EVP_CIPHER_CTX_ctrl(t->cctx, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL))
        return 0;
    if (mode != EVP_CIPH_GCM_MODE && !EVP_CIPHER_CTX_ctrl(t->cctx, EVP_CTRL_AEAD_SET_TAG, 12, NULL))
        return 0;
    return EVP_CipherInit_ex(t->cctx, NULL, NULL, key, iv, -1)
        && (mode != EVP_CIPH_CCM_MODE || EVP_EncryptUpdate(t->cctx, NULL, &len, NULL, t->size))
        && EVP_EncryptUpdate(t->cctx, NULL, &len, aad, sizeof aad)
        && EVP_EncryptUpdate(t->cctx, t->buf, &len, t->buf, t->size)
        && EVP_EncryptFinal_ex(t->cctx, t->buf + len, &len);
}

/* A TLS 1.3 record, sealed as libssl does. */
static int step_record13(struct task *t)
{
    unsigned char aad[5] = {23, 3, 3}, tag[16];
    int len;
    t->nonce[11]++;
    return EVP_CipherInit_ex(t->cctx, NULL, NULL, NULL, t->nonce, 1) > 0
        && EVP_EncryptUpdate(t->cctx, NULL, &len, aad, sizeof aad)
        && EVP_EncryptUpdate(t->cctx, t->buf, &len, t->buf, t->size)
        && EVP_EncryptFinal_ex(t->cctx, t->buf + len, &len)
        && EVP_CIPHER_CTX_ctrl(t->cctx, EVP_CTRL_AEAD_GET_TAG, sizeof tag, tag) > 0;
}

/* A TLS 1.2 record, sealed as libssl does; of CBC suites that is a call with an AAD too. */
static int step_record(struct task *t)
{
    unsigned char aad[EVP_AEAD_TLS1_AAD_LEN] = {0, 0, 0, 0, 0, 0, 0, t->sequence++, 23, 3, 3};
    int payload = t->size + (t->record == 1 ? EVP_GCM_TLS_EXPLICIT_IV_LEN : t->record == 3 ? 16 : 0);
    aad[11] = payload >> 8, aad[12] = payload & 255;
    int pad = EVP_CIPHER_CTX_ctrl(t->cctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof aad, aad);
    return pad > 0 && EVP_Cipher(t->cctx, t->buf, t->buf, payload + pad) > 0;
}

static int step_mac(struct task *t)
{
    unsigned char out[EVP_MAX_MD_SIZE];
    size_t len;
    /* GMAC wants an IV for each message. */
    OSSL_PARAM with_iv[] = {
        OSSL_PARAM_octet_string(OSSL_MAC_PARAM_IV, (void *)iv, 12),
        OSSL_PARAM_END,
    };
    if (t->record && EVP_MAC_CTX_set_params(t->mctx, with_iv) != 1)
        return 0;
    return EVP_MAC_init(t->mctx, t->record || t->one_time ? key : NULL, t->record ? t->record : t->one_time, NULL) && EVP_MAC_update(t->mctx, t->buf, t->size)
        && EVP_MAC_final(t->mctx, out, &len, sizeof out);
}

/* A whole message with its key: what a program does that has a key for each. */
static int step_whole(struct task *t)
{
    int len;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int done = EVP_EncryptInit_ex2(ctx, t->cipher, key, iv, NULL) && EVP_CIPHER_CTX_set_padding(ctx, 0)
        && EVP_EncryptUpdate(ctx, t->buf, &len, t->buf, t->size) && EVP_EncryptFinal_ex(ctx, t->buf + len, &len);
    EVP_CIPHER_CTX_free(ctx);
    return done;
}

/* Runs a task for a while: nanoseconds of each step. */
static double run(struct task *t, long long ns)
{
    long long begin = cpu_ns(), now;
    long steps = 0;
    int batch = t->size > 1024 ? 4 : 64;
    do {
        for (int i = 0; i < batch; i++)
            if (t->step(t) <= 0)
                die("a step fails");
        steps += batch;
        now = cpu_ns();
    } while (now - begin < ns);
    return (double)(now - begin) / steps;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int is_wanted(const char *name)
{
    if (n_wanted == 0)
        return 1;
    for (int i = 0; i < n_wanted; i++)
        if (strcasestr(name, wanted[i]))
            return 1;
    return 0;
}

/* How to prepare one side. */
struct row {
    char name[64];
    const char *algorithm;
    void (*prepare)(struct task *, OSSL_LIB_CTX *, const struct row *);
    int (*step)(struct task *);
    const char *sub;
    int record;
    int least;
};

static void clear(struct task *t)
{
    EVP_MD_free(t->md);
    EVP_CIPHER_CTX_free(t->cctx);
    EVP_CIPHER_free(t->cipher);
    EVP_MAC_CTX_free(t->mctx);
    memset(t, 0, sizeof *t);
}

static struct task sides[2];
static OSSL_LIB_CTX *contexts[2];

static void measure(const struct row *row)
{
    if (!is_wanted(row->name))
        return;
    printf("%-34s", row->name);
    for (int s = 0; s < SIZES; s++) {
        double ratios[ROUNDS_MOST], least[2] = {1e18, 1e18};
        if (sizes[s] < row->least) {
            printf("      -");
            continue;
        }
        for (int side = 0; side < 2; side++) {
            clear(&sides[side]);
            sides[side].step = row->step;
            sides[side].size = sizes[s];
            sides[side].record = row->record;
            row->prepare(&sides[side], contexts[side], row);
            run(&sides[side], 200000);
        }
        double ratio = 0;
        int done = 0;
        /* What is below the bar is measured for four times as long before that is said. */
        while (done < rounds || (ratio < bar && done < 4 * rounds && done < ROUNDS_MOST)) {
            for (int end = done + rounds; done < end && done < ROUNDS_MOST; done++) {
                double ns[2];
                for (int k = 0; k < 2; k++) {
                    int side = (done + k) & 1;
                    ns[side] = run(&sides[side], slice_ms * 1000000LL);
                    if (ns[side] < least[side])
                        least[side] = ns[side];
                }
                ratios[done] = ns[0] / ns[1];
            }
            qsort(ratios, done, sizeof *ratios, by_value);
            ratio = ratios[done / 2];
        }
        n_figures++;
        printf(" %6.2f", ratio);
        fflush(stdout);
        if (ratio < bar && n_missed < MISSED_MOST)
            snprintf(missed[n_missed++], sizeof *missed, "%.63s, %d bytes: %.3f (%.0f against %.0f ns)", row->name, sizes[s],
                     ratio, least[1], least[0]);
    }
    printf("\n");
}

static void prepare_digest(struct task *t, OSSL_LIB_CTX *ctx, const struct row *row)
{
    if (!(t->md = EVP_MD_fetch(ctx, row->algorithm, NULL)))
        die(row->algorithm);
}

static void prepare_cipher(struct task *t, OSSL_LIB_CTX *ctx, const struct row *row)
{
    int enc = row->step != step_decrypt;
    if (!(t->cipher = EVP_CIPHER_fetch(ctx, row->algorithm, NULL)))
        die(row->algorithm);
    t->cctx = EVP_CIPHER_CTX_new();
    CHECK(EVP_CipherInit_ex(t->cctx, t->cipher, NULL, NULL, iv, enc));
    CHECK(EVP_CIPHER_CTX_set_padding(t->cctx, 0));
    CHECK(EVP_CipherInit_ex(t->cctx, NULL, NULL, key, iv, enc));
    if (row->record == 1)
        CHECK(EVP_CIPHER_CTX_ctrl(t->cctx, EVP_CTRL_GCM_SET_IV_FIXED, 4, (void *)iv));
    else if (row->record == 2)
        CHECK(EVP_CIPHER_CTX_ctrl(t->cctx, EVP_CTRL_AEAD_SET_IV_FIXED, 12, (void *)iv));
    else if (row->record == 3 || strstr(row->algorithm, "HMAC"))
        CHECK(EVP_CIPHER_CTX_ctrl(t->cctx, EVP_CTRL_AEAD_SET_MAC_KEY, 20, (void *)key));
}

static void prepare_mac(struct task *t, OSSL_LIB_CTX *ctx, const struct row *row)
{
    EVP_MAC *mac = EVP_MAC_fetch(ctx, row->algorithm, NULL);
    OSSL_PARAM params[3] = {OSSL_PARAM_END, OSSL_PARAM_END, OSSL_PARAM_END}, *p = params;
    int len = 16;
    if (!mac)
        die(row->algorithm);
    t->mctx = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    if (strcmp(row->algorithm, "HMAC") == 0)
        *p++ = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)row->sub, 0);
    else if (row->sub)
        *p++ = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)row->sub, 0);
    t->one_time = strcmp(row->algorithm, "POLY1305") == 0 ? 32 : 0;
    if (strcmp(row->algorithm, "GMAC") == 0)
        t->record = row->sub && strstr(row->sub, "256") ? 32 : 16;
    if (strcmp(row->algorithm, "GMAC") == 0)
        *p++ = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, (void *)iv, 12);
    if (strcmp(row->algorithm, "POLY1305") == 0 || (row->sub && strstr(row->sub, "256")))
        len = 32;
    CHECK(EVP_MAC_init(t->mctx, key, len, params));
}

struct names {
    char digests[64][64], ciphers[128][64];
    int n_digests, n_ciphers;
};

static int is_ours(const OSSL_PROVIDER *provider)
{
    return strcmp(OSSL_PROVIDER_get0_name(provider), "lookaside") == 0;
}

static void one_digest(EVP_MD *md, void *arg)
{
    struct names *all = arg;
    if (is_ours(EVP_MD_get0_provider(md)))
        strncpy(all->digests[all->n_digests++], EVP_MD_get0_name(md), 63);
}

static void one_cipher(EVP_CIPHER *cipher, void *arg)
{
    struct names *all = arg;
    if (is_ours(EVP_CIPHER_get0_provider(cipher)))
        strncpy(all->ciphers[all->n_ciphers++], EVP_CIPHER_get0_name(cipher), 63);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void cipher_rows(const char *name)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(contexts[1], name, NULL);
    int mode = EVP_CIPHER_get_mode(cipher), records = strstr(name, "HMAC") != NULL;
    int poly = strcasecmp(name, "ChaCha20-Poly1305") == 0;
    struct row row = {.algorithm = name, .prepare = prepare_cipher, .least = mode == EVP_CIPH_XTS_MODE ? 16 : 0};
#define ROW(what, function, kind) \
    snprintf(row.name, sizeof row.name, "%s %s", name, what), row.step = function, row.record = kind, measure(&row)
    if (mode == EVP_CIPH_CCM_MODE || mode == EVP_CIPH_GCM_MODE || poly) {
        ROW("messages", step_aead, 0);
        if (mode != EVP_CIPH_CCM_MODE)
            ROW("TLS 1.3 record", step_record13, 0);
        if (mode != EVP_CIPH_CCM_MODE)
            ROW("TLS 1.2 record", step_record, poly ? 2 : 1);
        if (mode != EVP_CIPH_CCM_MODE && with_keys)
            ROW("key and text", step_whole, 0);
    } else {
        ROW("encrypt", step_encrypt, 0);
        if (!records && mode != EVP_CIPH_CTR_MODE)
            ROW("decrypt", step_decrypt, 0);
        if (records)
            ROW("TLS 1.2 record", step_record, 3);
        if (!records && with_keys)
            ROW("key and text", step_whole, 0);
    }
    EVP_CIPHER_free(cipher);
}

int main(int argc, char **argv)
{
    static struct names all;
    int option;
    while ((option = getopt(argc, argv, "m:r:b:k")) != -1)
        switch (option) {
        case 'm': slice_ms = atoi(optarg); break;
        case 'r': rounds = atoi(optarg); break;
        case 'b': bar = atof(optarg); break;
        case 'k': with_keys = 1; break;
        default: return 2;
        }
    if (optind >= argc || rounds < 1 || rounds > ROUNDS_MOST || slice_ms < 1)
        die("evp_speed [-m MS] [-r ROUNDS] [-b BAR] [-k] OPENSSL.CNF [NAME...]");
    wanted = argv + optind + 1, n_wanted = argc - optind - 1;

    /* Nothing of what the environment configures. */
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    for (int side = 0; side < 2; side++)
        contexts[side] = OSSL_LIB_CTX_new();
    CHECK(OSSL_LIB_CTX_load_config(contexts[1], argv[optind]));
    for (int side = 0; side < 2; side++) {
        if (!OSSL_PROVIDER_load(contexts[side], "default"))
            die("no default provider");
        OSSL_PROVIDER_try_load(contexts[side], "legacy", 1);
    }
    if (!OSSL_PROVIDER_available(contexts[1], "lookaside"))
        die("the configuration does not load our provider");
    ERR_clear_error();

    EVP_MD_do_all_provided(contexts[1], one_digest, &all);
    EVP_CIPHER_do_all_provided(contexts[1], one_cipher, &all);
    qsort(all.digests, all.n_digests, sizeof *all.digests, by_name);
    qsort(all.ciphers, all.n_ciphers, sizeof *all.ciphers, by_name);

    printf("%-34s", "OpenSSL's CPU time / ours");
    for (int s = 0; s < SIZES; s++)
        printf(" %6d", sizes[s]);
    printf("\n");
    for (int i = 0; i < all.n_ciphers; i++)
        cipher_rows(all.ciphers[i]);
    for (int i = 0; i < all.n_digests; i++) {
        struct row row = {.algorithm = all.digests[i], .prepare = prepare_digest, .step = step_digest};
        snprintf(row.name, sizeof row.name, "%s", all.digests[i]);
        measure(&row);
    }
    static const char *const macs[][2] = {
        {"HMAC", "MD5"}, {"HMAC", "SHA1"}, {"HMAC", "SHA2-256"}, {"HMAC", "SHA2-384"}, {"HMAC", "SHA2-512"},
        {"HMAC", "SHA3-256"}, {"HMAC", "SM3"}, {"CMAC", "AES-128-CBC"}, {"CMAC", "AES-256-CBC"},
        {"GMAC", "AES-128-GCM"}, {"GMAC", "AES-256-GCM"}, {"POLY1305", NULL},
    };
    for (unsigned i = 0; i < sizeof macs / sizeof *macs; i++) {
        struct row row = {.algorithm = macs[i][0], .sub = macs[i][1], .prepare = prepare_mac, .step = step_mac};
        EVP_MAC *mac = EVP_MAC_fetch(contexts[1], macs[i][0], NULL);
        snprintf(row.name, sizeof row.name, "%s %s", macs[i][0], macs[i][1] ? macs[i][1] : "");
        if (mac && is_ours(EVP_MAC_get0_provider(mac)))
            measure(&row);
        EVP_MAC_free(mac);
    }
    for (int i = 0; i < n_missed; i++)
        printf("below %.2f: %s\n", bar, missed[i]);
    printf("%d of %d figures are below %.2f\n", n_missed, n_figures, bar);
    for (int side = 0; side < 2; side++)
        clear(&sides[side]);
    return n_missed > 0;
}
