//! Compares our declarations with the C header's, by a C program that prints the header's.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::process::Command;

use super::ffi::{
    CIPHER_HASH, DECRYPT, ENCRYPT, Entry, GcmKey, GcmState, HASH_CIPHER, RING, State,
};
use super::{Algorithm, Mode};

/// The functions of 2.0 that are not declared.
const ADDED: usize = if cfg!(ipsec_mb_2) { 88 } else { 0 };

/// What C calls it, and what we made of it.
fn expected() -> Vec<(&'static str, usize)> {
    macro_rules! list {
        ($($c:literal = $rust:expr;)*) => { vec![$(($c, $rust as usize)),*] };
    }
    list! {
        "IMB_MAX_JOBS" = RING;
        "IMB_CIPHER_CBC" = Mode::Cbc;
        "IMB_CIPHER_NULL" = Mode::Null;
        "IMB_CIPHER_DES" = Mode::Des;
        "IMB_CIPHER_CCM" = Mode::Ccm;
        "IMB_CIPHER_DES3" = Mode::Des3;
        "IMB_CIPHER_ZUC_EEA3" = Mode::ZucEea3;
        "IMB_CIPHER_SNOW3G_UEA2_BITLEN" = Mode::Snow3gUea2;
        "IMB_AUTH_AES_XCBC" = Algorithm::Xcbc;
        "IMB_AUTH_NULL" = Algorithm::Null;
        "IMB_AUTH_AES_CCM" = Algorithm::Ccm;
        "IMB_AUTH_AES_CMAC" = Algorithm::Cmac;
        "IMB_AUTH_ZUC_EIA3_BITLEN" = Algorithm::ZucEia3;
        "IMB_AUTH_SNOW3G_UIA2_BITLEN" = Algorithm::Snow3gUia2;
        "IMB_AUTH_AES_CMAC_256" = Algorithm::Cmac256;
        "IMB_DIR_ENCRYPT" = ENCRYPT;
        "IMB_DIR_DECRYPT" = DECRYPT;
        "IMB_ORDER_CIPHER_HASH" = CIPHER_HASH;
        "IMB_ORDER_HASH_CIPHER" = HASH_CIPHER;
        "sizeof(IMB_JOB)" = size_of::<Entry>();
        "offsetof(IMB_JOB, enc_keys)" = offset_of!(Entry, enc_keys);
        "offsetof(IMB_JOB, dec_keys)" = offset_of!(Entry, dec_keys);
        "offsetof(IMB_JOB, key_len_in_bytes)" = offset_of!(Entry, key_len);
        "offsetof(IMB_JOB, src)" = offset_of!(Entry, src);
        "offsetof(IMB_JOB, dst)" = offset_of!(Entry, dst);
        "offsetof(IMB_JOB, cipher_start_src_offset_in_bytes)" = offset_of!(Entry, cipher_offset);
        "offsetof(IMB_JOB, msg_len_to_cipher_in_bytes)" = offset_of!(Entry, cipher_len);
        "offsetof(IMB_JOB, hash_start_src_offset_in_bytes)" = offset_of!(Entry, hash_offset);
        "offsetof(IMB_JOB, msg_len_to_hash_in_bytes)" = offset_of!(Entry, hash_len);
        "offsetof(IMB_JOB, iv)" = offset_of!(Entry, iv);
        "offsetof(IMB_JOB, iv_len_in_bytes)" = offset_of!(Entry, iv_len);
        "offsetof(IMB_JOB, auth_tag_output)" = offset_of!(Entry, tag);
        "offsetof(IMB_JOB, auth_tag_output_len_in_bytes)" = offset_of!(Entry, tag_len);
        "offsetof(IMB_JOB, u)" = offset_of!(Entry, auth);
        "sizeof(((IMB_JOB *)0)->u)" = size_of::<[*const c_void; 3]>();
        "offsetof(IMB_JOB, u.XCBC._k3)" = offset_of!(Entry, auth) + 16;
        "offsetof(IMB_JOB, u.CMAC._skey2)" = offset_of!(Entry, auth) + 16;
        "offsetof(IMB_JOB, u.CCM.aad_len_in_bytes)" = offset_of!(Entry, auth) + 8;
        "offsetof(IMB_JOB, u.ZUC_EIA3._iv)" = offset_of!(Entry, auth) + 8;
        "offsetof(IMB_JOB, u.SNOW3G_UIA2._iv)" = offset_of!(Entry, auth) + 8;
        "offsetof(IMB_JOB, status)" = offset_of!(Entry, status);
        "offsetof(IMB_JOB, cipher_mode)" = offset_of!(Entry, mode);
        "offsetof(IMB_JOB, cipher_direction)" = offset_of!(Entry, direction);
        "offsetof(IMB_JOB, hash_alg)" = offset_of!(Entry, algorithm);
        "offsetof(IMB_JOB, chain_order)" = offset_of!(Entry, order);
        "offsetof(IMB_JOB, user_data)" = offset_of!(Entry, user_data);
        "offsetof(IMB_JOB, sgl_state)" = offset_of!(Entry, sgl_state);
        "offsetof(IMB_JOB, cipher_fields)" = offset_of!(Entry, next_iv);
        "(sizeof(struct gcm_key_data) + 63) / 64 * 64" = size_of::<GcmKey>();
        "sizeof(struct gcm_context_data)" = offset_of!(GcmState, partial_block_length) + 8;
        "offsetof(struct gcm_context_data, partial_block_length)" =
            offset_of!(GcmState, partial_block_length);
        "offsetof(struct gcm_context_data, current_counter)" = offset_of!(GcmState, current_counter);
        "offsetof(IMB_MGR, features)" = offset_of!(State, features);
        "offsetof(IMB_MGR, used_arch)" = offset_of!(State, used_arch);
        "offsetof(IMB_MGR, imb_errno)" = offset_of!(State, errno);
        "offsetof(IMB_MGR, get_next_job)" = offset_of!(State, get_next);
        "offsetof(IMB_MGR, submit_job_nocheck)" = offset_of!(State, submit_nocheck);
        "offsetof(IMB_MGR, flush_job)" = offset_of!(State, flush);
        "offsetof(IMB_MGR, keyexp_128)" = offset_of!(State, key_expand);
        "offsetof(IMB_MGR, cmac_subkey_gen_128)" = offset_of!(State, cmac_subkeys_128);
        "offsetof(IMB_MGR, xcbc_keyexp)" = offset_of!(State, xcbc_expand);
        "offsetof(IMB_MGR, des_key_sched)" = offset_of!(State, des_schedule);
        "offsetof(IMB_MGR, sha1_one_block)" = offset_of!(State, one_block);
        "offsetof(IMB_MGR, md5_one_block)" = offset_of!(State, one_block) + 40;
        "offsetof(IMB_MGR, gcm128_enc)" = offset_of!(State, gcm_enc);
        "offsetof(IMB_MGR, gcm256_dec)" = offset_of!(State, gcm_dec) + 16;
        "offsetof(IMB_MGR, gcm128_enc_update)" = offset_of!(State, gcm_enc_update);
        "offsetof(IMB_MGR, gcm128_dec_update)" = offset_of!(State, gcm_dec_update);
        "offsetof(IMB_MGR, gcm128_enc_finalize)" = offset_of!(State, gcm_enc_end);
        "offsetof(IMB_MGR, gcm128_dec_finalize)" = offset_of!(State, gcm_dec_end);
        "offsetof(IMB_MGR, gcm128_pre)" = offset_of!(State, gcm_prepare);
        "offsetof(IMB_MGR, eea3_n_buffer)" = offset_of!(State, eea3);
        "offsetof(IMB_MGR, snow3g_f8_8_buffer_multikey)" = offset_of!(State, uea2_eight);
        "offsetof(IMB_MGR, eia3_n_buffer)" = offset_of!(State, eia3);
        "offsetof(IMB_MGR, snow3g_init_key_sched)" = offset_of!(State, snow3g_schedule);
        "offsetof(IMB_MGR, gcm128_init_var_iv)" = offset_of!(State, gcm_begin);
        "offsetof(IMB_MGR, cmac_subkey_gen_256)" = offset_of!(State, cmac_subkeys_256);
        "offsetof(IMB_MGR, submit_cipher_burst_nocheck)" = offset_of!(State, cipher_burst_nocheck);
        "offsetof(IMB_MGR, submit_hash_burst_nocheck)" = size_of::<State>() - 8;
        "offsetof(IMB_MGR, earliest_job)" = size_of::<State>() + ADDED;
    }
}

#[test]
fn declarations_are_those_of_the_header() {
    let list = expected();
    let lines: String =
        list.iter().map(|(c, _)| format!("printf(\"%zu\\n\", (size_t)({c}));\n")).collect();
    let header = env!("LOOKASIDE_IPSEC_MB_HEADER");
    let text = format!(
        "#define NO_COMPAT_IMB_API_053\n#include <stddef.h>\n#include <stdio.h>\n\
         #include \"{header}\"\nint main(void) {{\n{lines}return 0;\n}}\n"
    );
    let base = std::env::temp_dir().join(format!("lookaside-ipsec-mb-{}", std::process::id()));
    let (source, program) = (base.with_extension("c"), base.with_extension("out"));
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(&source).status();
    let Ok(compiled) = compiled else {
        eprintln!("SKIPPED: no C compiler to read the header with");
        return;
    };
    assert!(compiled.success());
    let printed = Command::new(&program).output().unwrap().stdout;
    for path in [source, program] {
        let _ = std::fs::remove_file(path);
    }
    let printed = String::from_utf8(printed).unwrap();
    let mut numbers = printed.lines();
    for (c, rust) in list {
        assert_eq!(numbers.next(), Some(rust.to_string().as_str()), "{c}");
    }
    assert_eq!(numbers.next(), None);
}
