//! The Diffie-Hellman groups that have names.

use core::ffi::CStr;

use once_cell::race::OnceBox;

/// The numbers of a group, big-endian without leading zeros.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// The prime.
    pub p: Vec<u8>,
    /// The order of the generator.
    pub q: Vec<u8>,
    /// The generator.
    pub g: Vec<u8>,
}

/// A group that has a name.
pub struct Named {
    /// The name, as OpenSSL's default provider has it.
    pub name: &'static CStr,
    /// The length of the prime in bits.
    pub bits: usize,
    /// The length of private keys in bits; 0: that of the order.
    pub private_bits: u32,
    origin: Origin,
    numbers: OnceBox<Numbers>,
}

enum Origin {
    /// p = 2 q + 1 and g = 2. In p = 2^n - 2^(n-64) + 2^64 (floor(2^(n-130) x) + c) - 1, x is e
    /// (RFC 7919) or pi (RFC 3526), whose digits these are, and c this number: the least with
    /// which p and q are prime.
    Safe(&'static str, u32),
    Written(Written),
}

/// Numbers in hexadecimal.
struct Written {
    p: &'static str,
    q: &'static str,
    g: &'static str,
}

const fn safe(
    name: &'static CStr,
    bits: usize,
    private_bits: u32,
    digits: &'static str,
    c: u32,
) -> Named {
    Named { name, bits, private_bits, origin: Origin::Safe(digits, c), numbers: OnceBox::new() }
}

const fn written(name: &'static CStr, bits: usize, origin: Written) -> Named {
    Named { name, bits, private_bits: 0, origin: Origin::Written(origin), numbers: OnceBox::new() }
}

/// All of them. Private keys of safe-prime groups are as long as RFC 7919 recommends for the
/// strength of their size, and as OpenSSL makes them.
static GROUPS: [Named; 14] = [
    safe(c"ffdhe2048", 2048, 225, E, 560_316),
    safe(c"ffdhe3072", 3072, 275, E, 2_625_351),
    safe(c"ffdhe4096", 4096, 325, E, 5_736_041),
    safe(c"ffdhe6144", 6144, 375, E, 15_705_020),
    safe(c"ffdhe8192", 8192, 400, E, 10_965_728),
    safe(c"modp_1536", 1536, 200, PI, 741_804),
    safe(c"modp_2048", 2048, 225, PI, 124_476),
    safe(c"modp_3072", 3072, 275, PI, 1_690_314),
    safe(c"modp_4096", 4096, 325, PI, 240_904),
    safe(c"modp_6144", 6144, 375, PI, 929_484),
    safe(c"modp_8192", 8192, 400, PI, 4_743_158),
    written(c"dh_1024_160", 1024, DH_1024_160),
    written(c"dh_2048_224", 2048, DH_2048_224),
    written(c"dh_2048_256", 2048, DH_2048_256),
];

impl Named {
    /// The group of this name.
    pub fn find(name: &str) -> Option<&'static Named> {
        GROUPS
            .iter()
            .find(|group| group.name.to_str().is_ok_and(|own| own.eq_ignore_ascii_case(name)))
    }

    /// The group of RFC 7919 with a prime of this length.
    pub fn of_size(bits: usize) -> Option<&'static Named> {
        GROUPS[..5].iter().find(|group| group.bits == bits)
    }

    /// The group with these numbers; without q, any group with this prime and generator.
    pub fn of_numbers(p: &[u8], q: Option<&[u8]>, g: &[u8]) -> Option<&'static Named> {
        let bits = super::ffc::bits(p);
        GROUPS.iter().filter(|group| group.bits == bits).find(|group| {
            let own = group.numbers();
            own.p == p && own.g == g && q.is_none_or(|q| own.q == q)
        })
    }

    /// Its numbers.
    pub fn numbers(&self) -> &Numbers {
        self.numbers.get_or_init(|| {
            Box::new(match &self.origin {
                Origin::Safe(digits, c) => {
                    let p = safe_prime(self.bits, digits, *c);
                    Numbers { q: super::ffc::half(&p), p, g: vec![2] }
                }
                Origin::Written(w) => Numbers { p: open(w.p), q: open(w.q), g: open(w.g) },
            })
        })
    }
}

/// The prime of a group with g = 2: between eight bytes of ones each, as many digits as fit, plus
/// c - 1 (the -1 at the end of the formula borrows from them).
fn safe_prime(bits: usize, digits: &str, c: u32) -> Vec<u8> {
    let mut p = vec![0xff; bits / 8];
    let middle = bits / 8 - 16;
    let digits = open(&digits[..2 * middle]);
    let mut carry = c - 1;
    for (byte, digit) in p[8..8 + middle].iter_mut().zip(digits).rev() {
        carry += u32::from(digit);
        *byte = carry as u8;
        carry >>= 8;
    }
    p
}

/// The bytes of a hexadecimal text of even length.
fn open(hex: &str) -> Vec<u8> {
    let digit = |d: u8| if d < b'a' { d - b'0' } else { d - b'a' + 10 };
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// floor(2^8062 e).
const E: &str = concat!(
    "adf85458a2bb4a9aafdc5620273d3cf1d8b9c583ce2d3695a9e13641146433fbcc939dce249b3ef97d2f",
    "e363630c75d8f681b202aec4617ad3df1ed5d5fd65612433f51f5f066ed0856365553ded1af3b557135e",
    "7f57c935984f0c70e0e68b77e2a689daf3efe8721df158a136ade73530acca4f483a797abc0ab182b324",
    "fb61d108a94bb2c8e3fbb96adab760d7f4681d4f42a3de394df4ae56ede76372bb190b07a7c8ee0a6d70",
    "9e02fce1cdf7e2ecc03404cd28342f619172fe9ce98583ff8e4f1232eef28183c3fe3b1b4c6fad733bb5",
    "fcbc2ec22005c58ef1837d1683b2c6f34a26c1b2effa886b4238611fcfdcde355b3b6519035bbc34f4de",
    "f99c023861b46fc9d6e6c9077ad91d2691f7f7ee598cb0fac186d91caefe130985139270b4130c93bc43",
    "7944f4fd4452e2d74dd364f2e21e71f54bff5cae82ab9c9df69ee86d2bc522363a0dabc521979b0deada",
    "1dbf9a42d5c4484e0abcd06bfa53ddef3c1b20ee3fd59d7c25e41d2b669e1ef16e6f52c3164df4fb7930",
    "e9e4e58857b6ac7d5f42d69f6d187763cf1d5503400487f55ba57e31cc7a7135c886efb4318aed6a1e01",
    "2d9e6832a907600a918130c46dc778f971ad0038092999a333cb8b7a1a1db93d7140003c2a4ecea9f98d",
    "0acc0a8291cdcec97dcf8ec9b55a7f88a46b4db5a851f44182e1c68a007e5e0dd9020bfd64b645036c7a",
    "4e677d2c38532a3a23ba4442caf53ea63bb454329b7624c8917bdd64b1c0fd4cb38e8c334c701c3acdad",
    "0657fccfec719b1f5c3e4e46041f388147fb4cfdb477a52471f7a9a96910b855322edb6340d8a00ef092",
    "350511e30abec1fff9e3a26e7fb29f8c183023c3587e38da0077d9b4763e4e4b94b2bbc194c6651e77ca",
    "f992eeaac0232a281bf6b3a739c1226116820ae8db5847a67cbef9c9091b462d538cd72b03746ae77f5e",
    "62292c311562a846505dc82db854338ae49f5235c95b91178ccf2dd5cacef403ec9d1810c6272b045b3b",
    "71f9dc6b80d63fdd4a8e9adb1e6962a69526d43161c1a41d570d7938dad4a40e329ccff46aaa36ad004c",
    "f600c8381e425a31d951ae64fdb23fcec9509d43687feb69edd1cc5e0b8cc3bdf64b10ef86b63142a3ab",
    "8829555b2f747c932665cb2c0f1cc01bd70229388839d2af05e454504ac78b7582822846c0ba35c35f5c",
    "59160cc046fd8251541fc68c9c86b022bb7099876a460e7451a8a93109703fee1c217e6c3826e52c51aa",
    "691e0e423cfc99e9e31650c1217b624816cdad9a95f9d5b8019488d9c0a0a1fe3075a577e23183f81d4a",
    "3f2fa4571efc8ce0ba8a4fe8b6855dfe72b0a66eded2fbabfbe58a30fafabe1c5d71a87e2f741ef8c1fe",
    "86fea6bbfde530677f0d97d11d49f7a8443d0822e506a9f4614e011e2a94838ff88cd68c8bb7c51eef6d",
);

/// floor(2^8062 pi).
const PI: &str = concat!(
    "c90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404ddef95",
    "19b3cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6",
    "f406b7edee386bfb5a899fa5ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf0598da48361c55",
    "d39a69163fa8fd24cf5f83655d23dca3ad961c62f356208552bb9ed529077096966d670c354e4abc9804",
    "f1746c08ca18217c32905e462e36ce3be39e772c180e86039b2783a2ec07a28fb5c55df06f4c52c9de2b",
    "cbf6955817183995497cea956ae515d2261898fa051015728e5a8aaac42dad33170d04507a33a85521ab",
    "df1cba64ecfb850458dbef0a8aea71575d060c7db3970f85a6e1e4c7abf5ae8cdb0933d71e8c94e04a25",
    "619dcee3d2261ad2ee6bf12ffa06d98a0864d87602733ec86a64521f2b18177b200cbbe117577a615d6c",
    "770988c0bad946e208e24fa074e5ab3143db5bfce0fd108e4b82d120a92108011a723c12a787e6d78871",
    "9a10bdba5b2699c327186af4e23c1a946834b6150bda2583e9ca2ad44ce8dbbbc2db04de8ef92e8efc14",
    "1fbecaa6287c59474e6bc05d99b2964fa090c3a2233ba186515be7ed1f612970cee2d7afb81bdd762170",
    "481cd0069127d5b05aa993b4ea988d8fddc186ffb7dc90a6c08f4df435c93402849236c3fab4d27c7026",
    "c1d4dcb2602646dec9751e763dba37bdf8ff9406ad9e530ee5db382f413001aeb06a53ed9027d8311797",
    "27b0865a8918da3edbebcf9b14ed44ce6cbaced4bb1bdb7f1447e6cc254b332051512bd7af426fb8f401",
    "378cd2bf5983ca01c64b92ecf032ea15d1721d03f482d7ce6e74fef6d55e702f46980c82b5a84031900b",
    "1c9e59e7c97fbec7e8f323a97a7e36cc88be0f1d45b7ff585ac54bd407b22b4154aacc8f6d7ebf48e1d8",
    "14cc5ed20f8037e0a79715eef29be32806a1d58bb7c5da76f550aa3d8a1fbff0eb19ccb1a313d55cda56",
    "c9ec2ef29632387fe8d76e3c0468043e8f663f4860ee12bf2d5b0b7474d6e694f91e6dbe115974a3926f",
    "12fee5e438777cb6a932df8cd8bec4d073b931ba3bc832b68d9dd300741fa7bf8afc47ed2576f6936ba4",
    "24663aab639c5ae4f5683423b4742bf1c978238f16cbe39d652de3fdb8befc848ad922222e04a4037c07",
    "13eb57a81a23f0c73473fc646cea306b4bcbc8862f8385ddfa9d4b7fa2c087e879683303ed5bdd3a062b",
    "3cf5b3a278a66d2a13f83f44f82ddf310ee074ab6a364597e899a0255dc164f31cc50846851df9ab4819",
    "5ded7ea1b1d510bd7ee74d73faf36bc31ecfa268359046f4eb879f924009438b481c6cd7889a002ed5ee",
    "382bc9190da6fc026e479558e4475677e9aa9e3050e2765694dfc81f56e880b96e7160c980dd98a573ea",
);

/// RFC 5114 section 2.1.
const DH_1024_160: Written = Written {
    p: concat!(
        "b10b8f96a080e01dde92de5eae5d54ec52c99fbcfb06a3c69a6a9dca52d23b616073e28675a23d189838",
        "ef1e2ee652c013ecb4aea906112324975c3cd49b83bfaccbdd7d90c4bd7098488e9c219a73724effd6fa",
        "e5644738faa31a4ff55bccc0a151af5f0dc8b4bd45bf37df365c1a65e68cfda76d4da708df1fb2bc2e4a",
        "4371",
    ),
    q: "f518aa8781a8df278aba4e7d64b7cb9d49462353",
    g: concat!(
        "a4d1cbd5c3fd34126765a442efb99905f8104dd258ac507fd6406cff14266d31266fea1e5c41564b777e",
        "690f5504f213160217b4b01b886a5e91547f9e2749f4d7fbd7d3b9a92ee1909d0d2263f80a76a6a24c08",
        "7a091f531dbf0a0169b6a28ad662a4d18e73afa32d779d5918d08bc8858f4dcef97c2a24855e6eeb22b3",
        "b2e5",
    ),
};

/// RFC 5114 section 2.2.
const DH_2048_224: Written = Written {
    p: concat!(
        "ad107e1e9123a9d0d660faa79559c51fa20d64e5683b9fd1b54b1597b61d0a75e6fa141df95a56dbaf9a",
        "3c407ba1df15eb3d688a309c180e1de6b85a1274a0a66d3f8152ad6ac2129037c9edefda4df8d91e8fef",
        "55b7394b7ad5b7d0b6c12207c9f98d11ed34dbf6c6ba0b2c8bbc27be6a00e0a0b9c49708b3bf8a317091",
        "883681286130bc8985db1602e714415d9330278273c7de31efdc7310f7121fd5a07415987d9adc0a486d",
        "cdf93acc44328387315d75e198c641a480cd86a1b9e587e8be60e69cc928b2b9c52172e413042e9b23f1",
        "0b0e16e79763c9b53dcf4ba80a29e3fb73c16b8e75b97ef363e2ffa31f71cf9de5384e71b81c0ac4dffe",
        "0c10e64f",
    ),
    q: "801c0d34c58d93fe997177101f80535a4738cebcbf389a99b36371eb",
    g: concat!(
        "ac4032ef4f2d9ae39df30b5c8ffdac506cdebe7b89998caf74866a08cfe4ffe3a6824a4e10b9a6f0dd92",
        "1f01a70c4afaab739d7700c29f52c57db17c620a8652be5e9001a8d66ad7c17669101999024af4d02727",
        "5ac1348bb8a762d0521bc98ae247150422ea1ed409939d54da7460cdb5f6c6b250717cbef180eb34118e",
        "98d119529a45d6f834566e3025e316a330efbb77a86f0c1ab15b051ae3d428c8f8acb70a8137150b8eeb",
        "10e183edd19963ddd9e263e4770589ef6aa21e7f5f2ff381b539cce3409d13cd566afbb48d6c019181e1",
        "bcfe94b30269edfe72fe9b6aa4bd7b5a0f1c71cfff4c19c418e1f6ec017981bc087f2a7065b384b890d3",
        "191f2bfa",
    ),
};

/// RFC 5114 section 2.3.
const DH_2048_256: Written = Written {
    p: concat!(
        "87a8e61db4b6663cffbbd19c651959998ceef608660dd0f25d2ceed4435e3b00e00df8f1d61957d4faf7",
        "df4561b2aa3016c3d91134096faa3bf4296d830e9a7c209e0c6497517abd5a8a9d306bcf67ed91f9e672",
        "5b4758c022e0b1ef4275bf7b6c5bfc11d45f9088b941f54eb1e59bb8bc39a0bf12307f5c4fdb70c581b2",
        "3f76b63acae1caa6b7902d52526735488a0ef13c6d9a51bfa4ab3ad8347796524d8ef6a167b5a41825d9",
        "67e144e5140564251ccacb83e6b486f6b3ca3f7971506026c0b857f689962856ded4010abd0be621c3a3",
        "960a54e710c375f26375d7014103a4b54330c198af126116d2276e11715f693877fad7ef09cadb094ae9",
        "1e1a1597",
    ),
    q: "8cf83642a709a097b447997640129da299b1a47d1eb3750ba308b0fe64f5fbd3",
    g: concat!(
        "3fb32c9b73134d0b2e77506660edbd484ca7b18f21ef205407f4793a1a0ba12510dbc15077be463fff4f",
        "ed4aac0bb555be3a6c1b0c6b47b1bc3773bf7e8c6f62901228f8c28cbb18a55ae31341000a650196f931",
        "c77a57f2ddf463e5e9ec144b777de62aaab8a8628ac376d282d6ed3864e67982428ebc831d14348f6f2f",
        "9193b5045af2767164e1dfc967c1fb3f2e55a4bd1bffe83b9c80d052b985d182ea0adb2a3b7313d3fe14",
        "c8484b1e052588b9b7d2bbd2df016199ecd06e1557cd0915b3353bbb64e0ec377fd028370df92b52c789",
        "1428cdc67eb6184b523d1db246c32f63078490f00ef8d647d148d47954515e2327cfef98c582664b4c0f",
        "6cc41659",
    ),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_primes_end_as_in_their_rfcs() {
        let ends: [u64; 11] = [
            0x886b_4238_6128_5c97, // ffdhe2048
            0x25e4_1d2b_66c6_2e37, // ffdhe3072
            0xc68a_007e_5e65_5f6a, // ffdhe4096
            0xa40e_329c_d0e4_0e65, // ffdhe6144
            0xd68c_8bb7_c5c6_424c, // ffdhe8192
            0xf174_6c08_ca23_7327, // modp_1536
            0x1572_8e5a_8aac_aa68, // modp_2048
            0x4b82_d120_a93a_d2ca, // modp_3072
            0x4df4_35c9_3406_3199, // modp_4096
            0xe694_f91e_6dcc_4024, // modp_6144
            0x60c9_80dd_98ed_d3df, // modp_8192
        ];
        for (group, end) in GROUPS.iter().zip(ends) {
            let p = &group.numbers().p;
            let (_, rest) = p.split_at(p.len() - 16);
            let (middle, ones) = rest.split_at(8);
            assert_eq!(middle, end.to_be_bytes(), "{:?}", group.name);
            assert_eq!(ones, [0xff; 8]);
            assert_eq!(p[..8], [0xff; 8]);
        }
    }

    #[test]
    fn found_by_name_size_and_numbers() {
        let group = Named::find("FFDHE2048").unwrap();
        assert_eq!((group.numbers().p.len(), group.numbers().q.len()), (256, 256));
        assert_eq!(Named::of_size(2048).unwrap().name, c"ffdhe2048");
        let rfc5114 = Named::find("dh_2048_256").unwrap().numbers().clone();
        let found = Named::of_numbers(&rfc5114.p, None, &rfc5114.g).unwrap();
        assert_eq!(found.name, c"dh_2048_256");
        assert!(Named::of_numbers(&rfc5114.p, Some(&[3]), &rfc5114.g).is_none());
        assert!(Named::of_numbers(&rfc5114.p, None, &[2]).is_none());
        assert!(Named::find("modp_768").is_none());
    }
}
