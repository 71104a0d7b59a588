/* The rivals as a C program would drive them: OpenSSL's EVP, and intel-ipsec-mb's job interface with
 * its lanes never flushed between packets. Both work in place on 32 packets in turn. */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_IPSEC_MB
#define NO_COMPAT_IMB_API_053
#include <intel-ipsec-mb.h>
#endif

enum { PACKETS = 32, ROOM = 64, AAD = 12 };

struct packet {
	uint8_t *text;
	uint8_t tag[64];
	uint8_t iv[32];
	uint8_t aad[16];
};

/* How far behind the start of a cache line texts begin. */
static size_t shift;

void rival_shift(size_t bytes) { shift = bytes; }

/* What intel-ipsec-mb may use: 0 SSE, 1 AVX2, 2 all that the CPU has. */
static int tier = 2;

void rival_tier(int is) { tier = is; }

struct rival {
	size_t len, tag_len, iv_len, key_len;
	size_t next;
	struct packet packets[PACKETS];
	/* OpenSSL. */
	EVP_CIPHER_CTX *cipher;
	EVP_MAC_CTX *mac;
	EVP_MD *md;
	EVP_MD_CTX *nested;
	int aead, ccm, rekey, rekey_cipher, with_iv;
	uint8_t mac_key[256];
	size_t mac_key_len;
	/* A checksum. */
	uint64_t (*crc)(uint64_t, const uint8_t *, uint64_t);
	/* intel-ipsec-mb. */
	int kind;
#ifdef HAVE_IPSEC_MB
	IMB_MGR *mgr;
	uint8_t enc[16 * 16] __attribute__((aligned(64)));
	uint8_t dec[16 * 16] __attribute__((aligned(64)));
	uint8_t ipad[512] __attribute__((aligned(64)));
	uint8_t opad[512] __attribute__((aligned(64)));
	uint8_t k2[16] __attribute__((aligned(64)));
	uint8_t k3[16] __attribute__((aligned(64)));
	struct gcm_key_data gcm __attribute__((aligned(64)));
	uint64_t des[3][16];
	const void *triple[3];
	void *schedule;
	uint8_t key[64] __attribute__((aligned(64)));
	IMB_JOB job;
#endif
};

/* The same key, IV and text bytes as the Rust side. */
static void fill(struct rival *r, size_t len)
{
	r->len = len;
	for (int i = 0; i < PACKETS; i++) {
		struct packet *p = &r->packets[i];
		p->text = aligned_alloc(64, (len + shift + ROOM + 63) / 64 * 64);
		p->text += shift;
		for (size_t k = 0; k < len; k++)
			p->text[k] = (uint8_t)((k * 31 >> 3) + i);
		memset(p->iv, i + 1, sizeof p->iv);
		memset(p->aad, 7, sizeof p->aad);
	}
}

static struct rival *blank(size_t len)
{
	size_t size = (sizeof(struct rival) + 63) / 64 * 64;
	struct rival *r = aligned_alloc(64, size);
	memset(r, 0, size);
	fill(r, len);
	return r;
}

void rival_free(struct rival *r)
{
	for (int i = 0; i < PACKETS; i++)
		free(r->packets[i].text - shift);
	EVP_CIPHER_CTX_free(r->cipher);
	EVP_MAC_CTX_free(r->mac);
	EVP_MD_free(r->md);
	EVP_MD_CTX_free(r->nested);
#ifdef HAVE_IPSEC_MB
	free(r->schedule);
	if (r->mgr)
		free_mb_mgr(r->mgr);
#endif
	free(r);
}

const uint8_t *rival_text(const struct rival *r, int i) { return r->packets[i].text; }
const uint8_t *rival_tag(const struct rival *r, int i) { return r->packets[i].tag; }

/* A cipher or AEAD by its OpenSSL name, a MAC ("HMAC:SHA1", "CMAC:AES-128-CBC") or a digest, each or
 * NULL; a cipher and a MAC are two calls for each packet. A digest with a key is nested: of the other
 * prefix and the digest of one prefix and the text. NULL when this OpenSSL lacks one. */
struct rival *openssl_new(const char *cipher, const char *mac, const char *digest, const uint8_t *key,
			  size_t key_len, const uint8_t *mac_key, size_t mac_key_len, size_t iv_len,
			  size_t tag_len, size_t len)
{
	static int legacy;
	if (!legacy++) {
		OSSL_PROVIDER_load(NULL, "default");
		OSSL_PROVIDER_load(NULL, "legacy");
	}
	struct rival *r = blank(len);
	r->tag_len = tag_len;
	r->iv_len = iv_len;
	if (cipher) {
		EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, cipher, NULL);
		if (!c)
			goto none;
		r->cipher = EVP_CIPHER_CTX_new();
		r->ccm = EVP_CIPHER_get_mode(c) == EVP_CIPH_CCM_MODE;
		r->aead = (EVP_CIPHER_get_flags(c) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
		if (EVP_EncryptInit_ex(r->cipher, c, NULL, NULL, NULL) <= 0)
			goto none;
		if (key_len && EVP_CIPHER_CTX_get_key_length(r->cipher) != (int)key_len)
			EVP_CIPHER_CTX_set_key_length(r->cipher, (int)key_len);
		if (r->aead)
			EVP_CIPHER_CTX_ctrl(r->cipher, EVP_CTRL_AEAD_SET_IVLEN, (int)iv_len, NULL);
		if (r->ccm)
			EVP_CIPHER_CTX_ctrl(r->cipher, EVP_CTRL_AEAD_SET_TAG, (int)tag_len, NULL);
		if (EVP_EncryptInit_ex(r->cipher, NULL, NULL, key, NULL) <= 0)
			goto none;
		EVP_CIPHER_CTX_set_padding(r->cipher, 0);
		/* A stream goes on from packet to packet unless it is keyed again. */
		if ((r->rekey_cipher = strcmp(cipher, "RC4") == 0))
			memcpy(r->mac_key, key, key_len);
		EVP_CIPHER_free(c);
	}
	if (mac) {
		char name[32];
		const char *colon = strchr(mac, ':');
		size_t n = colon ? (size_t)(colon - mac) : strlen(mac);
		memcpy(name, mac, n);
		name[n] = 0;
		EVP_MAC *m = EVP_MAC_fetch(NULL, name, NULL);
		if (!m)
			goto none;
		r->mac = EVP_MAC_CTX_new(m);
		EVP_MAC_free(m);
		OSSL_PARAM params[2] = { OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end() };
		if (colon)
			params[0] = OSSL_PARAM_construct_utf8_string(
				name[0] == 'H' ? OSSL_MAC_PARAM_DIGEST : OSSL_MAC_PARAM_CIPHER,
				(char *)colon + 1, 0);
		r->with_iv = name[0] == 'G';
		if (EVP_MAC_init(r->mac, mac_key, mac_key_len, params) <= 0)
			goto none;
		/* A key of Poly1305 is for one text only. */
		r->rekey = name[0] == 'P';
		memcpy(r->mac_key, mac_key, mac_key_len);
		r->mac_key_len = mac_key_len;
	}
	if (digest && !(r->md = EVP_MD_fetch(NULL, digest, NULL)))
		goto none;
	if (digest && mac_key_len) {
		r->nested = EVP_MD_CTX_new();
		memcpy(r->mac_key, mac_key, mac_key_len);
		r->mac_key_len = mac_key_len;
	}
	return r;
none:
	rival_free(r);
	return NULL;
}

void openssl_run(struct rival *r, size_t packets)
{
	int n;
	size_t m;
	for (size_t k = 0; k < packets; k++) {
		struct packet *p = &r->packets[r->next++ % PACKETS];
		if (r->cipher) {
			if (r->rekey_cipher)
				EVP_EncryptInit_ex(r->cipher, NULL, NULL, r->mac_key, NULL);
			if (r->iv_len)
				EVP_EncryptInit_ex(r->cipher, NULL, NULL, NULL, p->iv);
			if (r->ccm)
				EVP_EncryptUpdate(r->cipher, NULL, &n, NULL, (int)r->len);
			if (r->aead)
				EVP_EncryptUpdate(r->cipher, NULL, &n, p->aad, AAD);
			EVP_EncryptUpdate(r->cipher, p->text, &n, p->text, (int)r->len);
			EVP_EncryptFinal_ex(r->cipher, p->text + n, &n);
			if (r->aead)
				EVP_CIPHER_CTX_ctrl(r->cipher, EVP_CTRL_AEAD_GET_TAG, (int)r->tag_len, p->tag);
		}
		if (r->mac) {
			OSSL_PARAM iv[2] = { OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end() };
			if (r->with_iv)
				iv[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, p->iv, r->iv_len);
			EVP_MAC_init(r->mac, r->rekey ? r->mac_key : NULL, r->rekey ? r->mac_key_len : 0,
				     r->with_iv ? iv : NULL);
			EVP_MAC_update(r->mac, p->text, r->len);
			EVP_MAC_final(r->mac, p->tag, &m, sizeof p->tag);
		}
		if (r->nested) {
			const uint8_t *inner = r->mac_key + 1, *outer = inner + r->mac_key[0];
			unsigned int made;
			EVP_DigestInit_ex(r->nested, r->md, NULL);
			EVP_DigestUpdate(r->nested, inner, r->mac_key[0]);
			EVP_DigestUpdate(r->nested, p->text, r->len);
			EVP_DigestFinal_ex(r->nested, p->tag, &made);
			EVP_DigestInit_ex(r->nested, r->md, NULL);
			EVP_DigestUpdate(r->nested, outer, r->mac_key_len - 1 - r->mac_key[0]);
			EVP_DigestUpdate(r->nested, p->tag, made);
			EVP_DigestFinal_ex(r->nested, p->tag, &made);
		} else if (r->md)
			EVP_Digest(p->text, r->len, p->tag, NULL, r->md, NULL);
	}
}

/* A checksum of `tag_len` bytes by a function that goes on from the last one's result. */
struct rival *crc_new(uint64_t (*crc)(uint64_t, const uint8_t *, uint64_t), size_t tag_len, size_t len)
{
	struct rival *r = blank(len);
	r->crc = crc;
	r->tag_len = tag_len;
	return r;
}

void crc_run(struct rival *r, size_t packets)
{
	for (size_t k = 0; k < packets; k++) {
		struct packet *p = &r->packets[r->next++ % PACKETS];
		uint64_t sum = r->crc(0, p->text, r->len);
		for (size_t i = 0; i < r->tag_len; i++)
			p->tag[i] = (uint8_t)(sum >> 8 * (r->tag_len - 1 - i));
	}
}

#ifdef HAVE_IPSEC_MB
/* The numbers are those of the Rust side. */
enum kind {
	GCM = 1, CCM, CHACHA_POLY, CBC, CTR, ECB, DES, DES3, KASUMI_F8, SNOW3G, ZUC, GMAC,
	HMAC_MD5, HMAC_SHA1, HMAC_SHA256, HMAC_SHA512, XCBC, CMAC, SHA1, SHA256, SHA512,
	KASUMI_F9, UIA2, EIA3, POLY, CBC_SHA1, CBC_SHA256, CBC_SHA512, CTR_SHA1, CTR_SHA256, DES3_SHA1,
	NONE, SHA224, SHA384, HMAC_SHA224, HMAC_SHA384, CBC_SHA224, CBC_SHA384, CTR_SHA224,
	CTR_SHA384, CTR_SHA512,
};

static void aes_keys(IMB_MGR *m, const uint8_t *key, size_t len, void *enc, void *dec)
{
	switch (len) {
	case 16: IMB_AES_KEYEXP_128(m, key, enc, dec); break;
	case 24: IMB_AES_KEYEXP_192(m, key, enc, dec); break;
	default: IMB_AES_KEYEXP_256(m, key, enc, dec);
	}
}

static void gcm_key(IMB_MGR *m, const uint8_t *key, size_t len, struct gcm_key_data *to)
{
	switch (len) {
	case 16: IMB_AES128_GCM_PRE(m, key, to); break;
	case 24: IMB_AES192_GCM_PRE(m, key, to); break;
	default: IMB_AES256_GCM_PRE(m, key, to);
	}
}

static void hmac_keys(struct rival *r, const uint8_t *key, size_t n, size_t block,
		      void (*one)(IMB_MGR *, const void *, void *))
{
	uint8_t pad[128];
	for (int outer = 0; outer < 2; outer++) {
		memset(pad, outer ? 0x5c : 0x36, sizeof pad);
		for (size_t i = 0; i < n && i < block; i++)
			pad[i] ^= key[i];
		one(r->mgr, pad, outer ? r->opad : r->ipad);
	}
}

static void one_md5(IMB_MGR *m, const void *b, void *d) { IMB_MD5_ONE_BLOCK(m, b, d); }
static void one_sha1(IMB_MGR *m, const void *b, void *d) { IMB_SHA1_ONE_BLOCK(m, b, d); }
static void one_sha224(IMB_MGR *m, const void *b, void *d) { IMB_SHA224_ONE_BLOCK(m, b, d); }
static void one_sha384(IMB_MGR *m, const void *b, void *d) { IMB_SHA384_ONE_BLOCK(m, b, d); }
static void one_sha256(IMB_MGR *m, const void *b, void *d) { IMB_SHA256_ONE_BLOCK(m, b, d); }
static void one_sha512(IMB_MGR *m, const void *b, void *d) { IMB_SHA512_ONE_BLOCK(m, b, d); }

struct rival *bare_new(int kind, const uint8_t *key, size_t key_len, const uint8_t *mac_key,
		       size_t mac_key_len, size_t iv_len, size_t tag_len, size_t len)
{
	struct rival *r = blank(len);
	r->mgr = alloc_mb_mgr(0);
	if (tier == 0)
		init_mb_mgr_sse(r->mgr);
	else if (tier == 1)
		init_mb_mgr_avx2(r->mgr);
	else
		init_mb_mgr_auto(r->mgr, NULL);
	r->kind = kind;
	r->tag_len = tag_len;
	IMB_JOB *j = &r->job;
	memcpy(r->key, kind >= KASUMI_F9 && kind <= POLY ? mac_key : key,
	       kind >= KASUMI_F9 && kind <= POLY ? mac_key_len : key_len);
	j->cipher_mode = IMB_CIPHER_NULL;
	j->hash_alg = IMB_AUTH_NULL;
	j->cipher_direction = IMB_DIR_ENCRYPT;
	j->chain_order = IMB_ORDER_CIPHER_HASH;
	j->key_len_in_bytes = key_len;
	j->iv_len_in_bytes = iv_len;
	j->enc_keys = r->enc;
	j->dec_keys = r->dec;
	j->msg_len_to_cipher_in_bytes = len;
	j->msg_len_to_hash_in_bytes = len;
	j->auth_tag_output_len_in_bytes = tag_len;
	switch (kind) {
	case CCM: case CBC: case CTR: case ECB: case CBC_SHA1: case CBC_SHA256: case CBC_SHA512:
	case CTR_SHA1: case CTR_SHA256: case CBC_SHA224: case CBC_SHA384: case CTR_SHA224:
	case CTR_SHA384: case CTR_SHA512:
		aes_keys(r->mgr, key, key_len, r->enc, r->dec);
		break;
	case DES: case DES3: case DES3_SHA1:
		for (int i = 0; i < (kind == DES ? 1 : 3); i++) {
			des_key_schedule(r->des[i], key + 8 * i);
			r->triple[i] = r->des[i];
		}
		j->enc_keys = j->dec_keys = kind == DES ? (void *)r->des[0] : (void *)r->triple;
		break;
	}
	switch (kind) {
	case CBC: case CBC_SHA1: case CBC_SHA224: case CBC_SHA256: case CBC_SHA384: case CBC_SHA512:
		j->cipher_mode = IMB_CIPHER_CBC;
		break;
	case CTR: case CTR_SHA1: case CTR_SHA224: case CTR_SHA256: case CTR_SHA384: case CTR_SHA512:
		j->cipher_mode = IMB_CIPHER_CNTR;
		break;
	case ECB: j->cipher_mode = IMB_CIPHER_ECB; break;
	case DES: j->cipher_mode = IMB_CIPHER_DES; break;
	case DES3: case DES3_SHA1: j->cipher_mode = IMB_CIPHER_DES3; break;
	case GCM:
		gcm_key(r->mgr, key, key_len, &r->gcm);
		j->cipher_mode = IMB_CIPHER_GCM;
		j->hash_alg = IMB_AUTH_AES_GMAC;
		j->enc_keys = j->dec_keys = &r->gcm;
		j->u.GCM.aad_len_in_bytes = AAD;
		break;
	case CCM:
		j->cipher_mode = IMB_CIPHER_CCM;
		j->hash_alg = IMB_AUTH_AES_CCM;
		j->u.CCM.aad_len_in_bytes = AAD;
		j->chain_order = IMB_ORDER_HASH_CIPHER;
		break;
	case CHACHA_POLY:
		j->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
		j->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
		j->enc_keys = j->dec_keys = r->key;
		j->u.CHACHA20_POLY1305.aad_len_in_bytes = AAD;
		break;
	case KASUMI_F8: case KASUMI_F9:
		r->schedule = aligned_alloc(64, (IMB_KASUMI_KEY_SCHED_SIZE(r->mgr) + 63) / 64 * 64);
		if (kind == KASUMI_F8) {
			IMB_KASUMI_INIT_F8_KEY_SCHED(r->mgr, key, r->schedule);
			j->cipher_mode = IMB_CIPHER_KASUMI_UEA1_BITLEN;
			j->msg_len_to_cipher_in_bits = len * 8;
		} else {
			IMB_KASUMI_INIT_F9_KEY_SCHED(r->mgr, mac_key, r->schedule);
			j->hash_alg = IMB_AUTH_KASUMI_UIA1;
			j->u.KASUMI_UIA1._key = r->schedule;
		}
		j->enc_keys = j->dec_keys = r->schedule;
		break;
	case SNOW3G: case UIA2:
		r->schedule = aligned_alloc(64, (IMB_SNOW3G_KEY_SCHED_SIZE(r->mgr) + 63) / 64 * 64);
		IMB_SNOW3G_INIT_KEY_SCHED(r->mgr, kind == SNOW3G ? key : mac_key, r->schedule);
		j->enc_keys = j->dec_keys = r->schedule;
		if (kind == SNOW3G) {
			j->cipher_mode = IMB_CIPHER_SNOW3G_UEA2_BITLEN;
			j->msg_len_to_cipher_in_bits = len * 8;
		} else {
			j->hash_alg = IMB_AUTH_SNOW3G_UIA2_BITLEN;
			j->msg_len_to_hash_in_bits = len * 8;
			j->u.SNOW3G_UIA2._key = r->schedule;
		}
		break;
	case ZUC: j->cipher_mode = IMB_CIPHER_ZUC_EEA3; j->enc_keys = j->dec_keys = r->key; break;
	case EIA3:
		j->hash_alg = IMB_AUTH_ZUC_EIA3_BITLEN;
		j->msg_len_to_hash_in_bits = len * 8;
		j->u.ZUC_EIA3._key = r->key;
		break;
	case POLY: j->hash_alg = IMB_AUTH_POLY1305; j->u.POLY1305._key = r->key; break;
	case XCBC:
		IMB_AES_XCBC_KEYEXP(r->mgr, mac_key, r->ipad, r->k2, r->k3);
		j->hash_alg = IMB_AUTH_AES_XCBC;
		j->u.XCBC._k1_expanded = (uint32_t *)r->ipad;
		j->u.XCBC._k2 = r->k2;
		j->u.XCBC._k3 = r->k3;
		break;
	case CMAC:
		aes_keys(r->mgr, mac_key, mac_key_len, r->enc, r->dec);
		if (mac_key_len == 16)
			IMB_AES_CMAC_SUBKEY_GEN_128(r->mgr, r->enc, r->k2, r->k3);
		else
			IMB_AES_CMAC_SUBKEY_GEN_256(r->mgr, r->enc, r->k2, r->k3);
		j->hash_alg = mac_key_len == 16 ? IMB_AUTH_AES_CMAC : IMB_AUTH_AES_CMAC_256;
		j->u.CMAC._key_expanded = r->enc;
		j->u.CMAC._skey1 = r->k2;
		j->u.CMAC._skey2 = r->k3;
		break;
	case GMAC:
		gcm_key(r->mgr, mac_key, mac_key_len, &r->gcm);
		j->hash_alg = mac_key_len == 16 ? IMB_AUTH_AES_GMAC_128 :
			      mac_key_len == 24 ? IMB_AUTH_AES_GMAC_192 : IMB_AUTH_AES_GMAC_256;
		j->u.GMAC._key = &r->gcm;
		j->u.GMAC.iv_len_in_bytes = iv_len;
		break;
	case SHA1: j->hash_alg = IMB_AUTH_SHA_1; break;
	case SHA224: j->hash_alg = IMB_AUTH_SHA_224; break;
	case SHA384: j->hash_alg = IMB_AUTH_SHA_384; break;
	case SHA256: j->hash_alg = IMB_AUTH_SHA_256; break;
	case SHA512: j->hash_alg = IMB_AUTH_SHA_512; break;
	}
	switch (kind) {
	case HMAC_MD5:
		j->hash_alg = IMB_AUTH_MD5;
		hmac_keys(r, mac_key, mac_key_len, 64, one_md5);
		break;
	case HMAC_SHA1: case CBC_SHA1: case CTR_SHA1: case DES3_SHA1:
		j->hash_alg = IMB_AUTH_HMAC_SHA_1;
		hmac_keys(r, mac_key, mac_key_len, 64, one_sha1);
		break;
	case HMAC_SHA224: case CBC_SHA224: case CTR_SHA224:
		j->hash_alg = IMB_AUTH_HMAC_SHA_224;
		hmac_keys(r, mac_key, mac_key_len, 64, one_sha224);
		break;
	case HMAC_SHA384: case CBC_SHA384: case CTR_SHA384:
		j->hash_alg = IMB_AUTH_HMAC_SHA_384;
		hmac_keys(r, mac_key, mac_key_len, 128, one_sha384);
		break;
	case HMAC_SHA256: case CBC_SHA256: case CTR_SHA256:
		j->hash_alg = IMB_AUTH_HMAC_SHA_256;
		hmac_keys(r, mac_key, mac_key_len, 64, one_sha256);
		break;
	case HMAC_SHA512: case CBC_SHA512: case CTR_SHA512:
		j->hash_alg = IMB_AUTH_HMAC_SHA_512;
		hmac_keys(r, mac_key, mac_key_len, 128, one_sha512);
		break;
	}
	switch (j->hash_alg) {
	case IMB_AUTH_MD5: case IMB_AUTH_HMAC_SHA_1: case IMB_AUTH_HMAC_SHA_224:
	case IMB_AUTH_HMAC_SHA_256: case IMB_AUTH_HMAC_SHA_384: case IMB_AUTH_HMAC_SHA_512:
		j->u.HMAC._hashed_auth_key_xor_ipad = r->ipad;
		j->u.HMAC._hashed_auth_key_xor_opad = r->opad;
		break;
	default:
		break;
	}
	return r;
}

void bare_run(struct rival *r, size_t packets)
{
	IMB_MGR *m = r->mgr;
	const IMB_JOB *t = &r->job;
	for (size_t k = 0; k < packets; k++) {
		struct packet *p = &r->packets[r->next++ % PACKETS];
		IMB_JOB *j = IMB_GET_NEXT_JOB(m);
		j->src = p->text;
		j->dst = p->text;
		j->iv = p->iv;
		j->auth_tag_output = p->tag;
		j->enc_keys = t->enc_keys;
		j->dec_keys = t->dec_keys;
		j->key_len_in_bytes = t->key_len_in_bytes;
		j->iv_len_in_bytes = t->iv_len_in_bytes;
		j->cipher_start_src_offset_in_bytes = 0;
		j->hash_start_src_offset_in_bytes = 0;
		j->msg_len_to_cipher_in_bytes = t->msg_len_to_cipher_in_bytes;
		j->msg_len_to_hash_in_bytes = t->msg_len_to_hash_in_bytes;
		j->auth_tag_output_len_in_bytes = t->auth_tag_output_len_in_bytes;
		j->u = t->u;
		j->cipher_mode = t->cipher_mode;
		j->hash_alg = t->hash_alg;
		j->cipher_direction = t->cipher_direction;
		j->chain_order = t->chain_order;
		switch (r->kind) {
		case GCM: j->u.GCM.aad = p->aad; break;
		case CCM: j->u.CCM.aad = p->aad; break;
		case CHACHA_POLY: j->u.CHACHA20_POLY1305.aad = p->aad; break;
		case GMAC: j->u.GMAC._iv = p->iv; break;
		case UIA2: j->u.SNOW3G_UIA2._iv = p->iv; break;
		case EIA3: j->u.ZUC_EIA3._iv = p->iv; break;
		}
		IMB_SUBMIT_JOB_NOCHECK(m);
	}
	/* The last ones: a program that runs on has more to submit instead. */
	while (IMB_FLUSH_JOB(m))
		;
}
#else
struct rival *bare_new(int kind, const uint8_t *key, size_t key_len, const uint8_t *mac_key,
		       size_t mac_key_len, size_t iv_len, size_t tag_len, size_t len)
{
	return NULL;
}

void bare_run(struct rival *r, size_t packets) {}
#endif
