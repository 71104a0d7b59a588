//! SNOW 3G against the implementors' test data of TS 35.217; many packets against the same one by one.

use lookaside_cipher_kernel::{Text, snow3g};

mod keystream;
use keystream::{array, hex};

/// Key, IV, plaintext, ciphertext, bits.
const UEA2: [(&str, &str, &str, &str, usize); 4] = [
    (
        "2BD6459F82C5B300952C49104881FF48",
        "72A4F20F6400000072A4F20F64000000",
        "7EC61272743BF1614726446A6C38CED166F6CA76EB5430044286346CEF130F92\
         922B03450D3A9975E5BD2EA0EB55AD8E1B199E3EC4316020E9A1B285E7627953\
         59B7BDFD39BEF4B2484583D5AFE082AEE638BF5FD5A606193901A08F4AB41AAB\
         9B134880",
        "8CEBA62943DCED3A0990B06EA1B0A2C4FB3CEDC71B369F42BA64C1EB6665E72A\
         A1C9BB0DEAA20FE86058B8BAEE2C2E7F0BECCE48B52932A53C9D5F931A3A7C53\
         2259AF4325E2A65E3084AD5F6A513B7BDDC1B65F0AA0D97A053DB55A88C4C4F9\
         605E4140",
        798,
    ),
    (
        "EFA8B2229E720C2A7C36EA55E9605695",
        "E28BCF7BC0000000E28BCF7BC0000000",
        "10111231E060253A43FD3F57E37607AB2827B599B6B1BBDA37A8ABCC5A8C550D\
         1BFB2F494624FB50367FA36CE3BC68F11CF93B1510376B02130F812A9FA169D8",
        "E0DA15CA8E2554F5E56C9468DC6C7C129C568AA5032317E04E0729646CABEFA6\
         89864C410F24F919E61E3DFDFAD77E560DB0A9CD36C34AE4181490B29F5FA2FC",
        510,
    ),
    (
        "5ACB1D644C0D51204EA5F1451010D852",
        "FA556B261C000000FA556B261C000000",
        "AD9C441F890B38C457A49D421407E8",
        "BA0F31300334C56B52A7497CBAC046",
        120,
    ),
    (
        "D3C5D592327FB11C4035C6680AF8C6D1",
        "398A59B42C000000398A59B42C000000",
        "981BA6824C1BFB1AB485472029B71D808CE33E2CC3C0B5FC1F3DE8A6DC66B1F0",
        "989B719CDC33CEB7CF276A52827CEF94A56C40C0AB9D81F7A2A9BAC60E11C4B0",
        253,
    ),
];

#[test]
fn standard_uea2() {
    for (key, iv, plain, cipher, bits) in UEA2 {
        let (key, iv, mut text, mut expected) = (array(key), array(iv), hex(plain), hex(cipher));
        let spare_bits = (8 * text.len() - bits) as u8;
        // The spare bits stay the source's.
        let spare = !(0xFF << spare_bits);
        let last = text.len() - 1;
        expected[last] = expected[last] & !spare | text[last] & spare;
        snow3g::uea2(&key, &iv, &mut Text::InPlace(&mut text), spare_bits);
        assert_eq!(text, expected, "{bits} bits");
    }
}

#[test]
fn standard_uia2() {
    let (key, iv) = ("C736C6AAB22BFFF91E2698D2E22AD57E", "14793E410397E8FD94793E41039768FD");
    let data = hex("D0A7D463DF9FB2B278833FA02E235AA172BD970C1473E12907FB648B6599AAA0\
                    B24A038665422B20A499276A50427009");
    assert_eq!(snow3g::uia2(&array(key), &array(iv), &data, 0), [0x38, 0xB5, 0x54, 0xC0]);
    let (key, iv) = ("F4EBEC69E73EAF2EB2CF6AF4B3120FFD", "296F393C6B227737A96F393C6B22F737");
    let mut data = hex("10BFFF839E0C71658DBB2D1707E145724F41C16F48BF403C3B18E38FD5D1663B\
                        6F6D900193E3CEA8BB4F1B4F5BE822032232A78D7D75238D5E6DAECD3B4322CF\
                        59BC7EA84AB18811B5BFB7BC553F4FE44478CE287A14879990D18D12CA79D2C8\
                        55149021CD5CE8CA0371CA04FCCE143E3D7CFEE94585B5885CAC46068B");
    assert_eq!(snow3g::uia2(&array(key), &array(iv), &data, 0), [0x06, 0x17, 0x45, 0xAE]);
    // Bits that are not part of the message do not count; their number does.
    let tag = snow3g::uia2(&array(key), &array(iv), &data, 3);
    assert_ne!(tag, [0x06, 0x17, 0x45, 0xAE]);
    *data.last_mut().unwrap() ^= 7;
    assert_eq!(snow3g::uia2(&array(key), &array(iv), &data, 3), tag);
}

#[test]
fn pieces_make_a_text() {
    let (key, iv) = ([0x5A; 16], [0xC3; 16]);
    let source: Vec<u8> = (0..100).collect();
    let mut whole = source.clone();
    snow3g::uea2(&key, &iv, &mut Text::InPlace(&mut whole), 0);
    for cut in 0..=source.len() {
        let mut stream = snow3g::Stream::new(&key, &iv);
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
        apply: snow3g::uea2,
        apply_many: snow3g::uea2_many,
        tag: snow3g::uia2,
        tag_many: snow3g::uia2_many,
    });
}
