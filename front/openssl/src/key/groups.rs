//! The Diffie-Hellman groups that have names.

use core::ffi::CStr;
use std::sync::OnceLock;

use lookaside_pke::dh::Name;

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
    numbers: OnceLock<Numbers>,
}

enum Origin {
    /// p = 2 q + 1 and g = 2; p follows from the digits of e or pi.
    Safe(Name),
    Written(Written),
}

/// Numbers in hexadecimal.
struct Written {
    p: &'static str,
    q: &'static str,
    g: &'static str,
}

const fn safe(name: &'static CStr, bits: usize, private_bits: u32, origin: Name) -> Named {
    Named { name, bits, private_bits, origin: Origin::Safe(origin), numbers: OnceLock::new() }
}

const fn written(name: &'static CStr, bits: usize, origin: Written) -> Named {
    Named { name, bits, private_bits: 0, origin: Origin::Written(origin), numbers: OnceLock::new() }
}

/// All of them. Private keys of safe-prime groups are as long as RFC 7919 recommends for the
/// strength of their size, and as OpenSSL makes them.
static GROUPS: [Named; 14] = [
    safe(c"ffdhe2048", 2048, 225, Name::Ffdhe2048),
    safe(c"ffdhe3072", 3072, 275, Name::Ffdhe3072),
    safe(c"ffdhe4096", 4096, 325, Name::Ffdhe4096),
    safe(c"ffdhe6144", 6144, 375, Name::Ffdhe6144),
    safe(c"ffdhe8192", 8192, 400, Name::Ffdhe8192),
    safe(c"modp_1536", 1536, 200, Name::Modp1536),
    safe(c"modp_2048", 2048, 225, Name::Modp2048),
    safe(c"modp_3072", 3072, 275, Name::Modp3072),
    safe(c"modp_4096", 4096, 325, Name::Modp4096),
    safe(c"modp_6144", 6144, 375, Name::Modp6144),
    safe(c"modp_8192", 8192, 400, Name::Modp8192),
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
        self.numbers.get_or_init(|| match &self.origin {
            Origin::Safe(name) => {
                let p = name.prime();
                Numbers { q: super::ffc::half(&p), p, g: vec![2] }
            }
            Origin::Written(w) => Numbers { p: open(w.p), q: open(w.q), g: open(w.g) },
        })
    }
}

/// The bytes of a hexadecimal text of even length.
fn open(hex: &str) -> Vec<u8> {
    let digit = |d: u8| if d < b'a' { d - b'0' } else { d - b'a' + 10 };
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

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
