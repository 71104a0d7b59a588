//! ZUC against the implementors' test data of TS 35.223; many packets against the same one by one.

use lookaside_cipher_kernel::{Text, zuc};

mod keystream;
use keystream::{array, hex};

/// Key, IV, plaintext, ciphertext, bits.
const EEA3: [(&str, &str, &str, &str, usize); 3] = [
    (
        "173D14BA5003731D7A60049470F00A29",
        "66035492780000006603549278000000",
        "6CF65340735552AB0C9752FA6F9025FE0BD675D9005875B200",
        "A6C85FC66AFB8533AAFC2518DFE784940EE1E4B030238CC800",
        193,
    ),
    (
        "E5BD3EA0EB55ADE866C6AC58BD54302A",
        "00056823C400000000056823C4000000",
        "14A8EF693D678507BBE7270A7F67FF5006C3525B9807E467C4E56000BA338F5D\
         429559036751822246C80D3B38F07F4BE2D8FF5805F5132229BDE93BBBDCAF38\
         2BF1EE972FBF9977BADA8945847A2A6C9AD34A667554E04D1F7FA2C33241BD8F\
         01BA220D",
        "131D43E0DEA1BE5C5A1BFD971D852CBF712D7B4F57961FEA3208AFA8BCA433F4\
         56AD09C7417E58BC69CF8866D1353F74865E80781D202DFB3ECFF7FCBC3B190F\
         E82A204ED0E350FC0F6F2613B2F2BCA6DF5A473A57A4A00D985EBAD880D6F238\
         64A07B01",
        800,
    ),
    (
        "D4552A8FD6E61CC81A2009141A29C10B",
        "76452EC11400000076452EC114000000",
        "38F07F4BE2D8FF5805F5132229BDE93BBBDCAF382BF1EE972FBF9977BADA8945\
         847A2A6C9AD34A667554E04D1F7FA2C33241BD8F01BA220D3CA4EC41E074595F\
         54AE2B454FD971432043601965CCA85C2417ED6CBEC3BADA84FC8A579AEA7837\
         B0271177242A64DC0A9DE71A8EDEE86CA3D47D033D6BF539804ECA86C584A905\
         2DE46AD3FCED65543BD90207372B27AFB79234F5FF43EA870820E2C2B78A8AAE\
         61CCE52A0515E348D196664A3456B182A07C406E4A20791271CFEDA165D535EC\
         5EA2D4DF40",
        "8383B0229FCC0B9D2295EC41C977E9C2BB72E220378141F9C8318F3A270DFBCD\
         EE6411C2B3044F176DC6E00F8960F97AFACD131AD6A3B49B16B7BABCF2A509EB\
         B16A75DCAB14FF275DBEEEA1A2B155F9D52C26452D0187C310A4EE55BEAA78AB\
         4024615BA9F5D5ADC7728F73560671F013E5E550085D3291DF7D5FECEDDED559\
         641B6C2F585233BC71E9602BD2305855BBD25FFA7F17ECBC042DAAE38C1F57AD\
         8E8EBD37346F71BEFDBB7432E0E0BB2CFC09BCD96570CB0C0C39DF5E29294E82\
         703A637F80",
        1570,
    ),
];

#[test]
fn standard_eea3() {
    for (key, iv, plain, cipher, bits) in EEA3 {
        let (key, iv, mut text, mut expected) = (array(key), array(iv), hex(plain), hex(cipher));
        let spare_bits = (8 * text.len() - bits) as u8;
        // The spare bits stay the source's.
        let spare = !(0xFF << spare_bits);
        let last = text.len() - 1;
        expected[last] = expected[last] & !spare | text[last] & spare;
        zuc::eea3(&key, &iv, &mut Text::InPlace(&mut text), spare_bits);
        assert_eq!(text, expected, "{bits} bits");
    }
}

#[test]
fn standard_eia3() {
    assert_eq!(zuc::eia3(&[0; 16], &[0; 16], &[0], 7), [0xC8, 0xA9, 0x59, 0x5E]);
    // COUNT 561EB2DD, BEARER 14, DIRECTION 0, 90 bits.
    let key = array("47054125561EB2DDA94059DA05097850");
    let iv = array("561EB2DDA0000000561EB2DDA0000000");
    assert_eq!(zuc::eia3(&key, &iv, &[0; 12], 6), [0x67, 0x19, 0xA0, 0x88]);
    // Bits that are not part of the message do not count.
    let mut data = [0; 12];
    data[11] = 0x3F;
    assert_eq!(zuc::eia3(&key, &iv, &data, 6), [0x67, 0x19, 0xA0, 0x88]);
    assert_ne!(zuc::eia3(&key, &iv, &data, 5), zuc::eia3(&key, &iv, &[0; 12], 5));
}

#[test]
fn pieces_make_a_text() {
    let (key, iv) = ([0x5A; 16], [0xC3; 16]);
    let source: Vec<u8> = (0..100).collect();
    let mut whole = source.clone();
    zuc::eea3(&key, &iv, &mut Text::InPlace(&mut whole), 0);
    for cut in 0..=source.len() {
        let mut stream = zuc::Stream::new(&key, &iv);
        let mut text = vec![0; source.len()];
        let (first, second) = text.split_at_mut(cut);
        stream.apply(&mut Text::Apart { src: &source[..cut], dst: first });
        // A clone goes on where the original stands.
        let mut other = stream.clone();
        drop(stream);
        let middle = second.len() / 3;
        let (second, third) = second.split_at_mut(middle);
        other.apply(&mut Text::Apart { src: &source[cut..cut + middle], dst: second });
        other.apply(&mut Text::Apart { src: &source[cut + middle..], dst: third });
        assert_eq!(text, whole, "cut at {cut}");
    }
}

#[test]
fn many_as_one_by_one() {
    keystream::many_as_one_by_one(&keystream::Kernels {
        apply: zuc::eea3,
        apply_many: zuc::eea3_many,
        tag: zuc::eia3,
        tag_many: zuc::eia3_many,
    });
}
