//! Keys and requests as they should be, for an input to edit. The same at every run.

use lookaside::{RsaScheme, Runtime};

use super::keys::RSA_1024;
use super::one;
use super::operation::{Family, Operation, SCHEMES, STEPS};

/// The parts of a key, as `Operation::open` takes them.
pub fn key(family: Family) -> Vec<Vec<u8>> {
    match family {
        Family::Rsa => {
            let [n, p, q, dp, dq, qinv] = RSA_1024.map(hex);
            // d, by dp and dq, is not needed where these are; without them it has to be right.
            vec![n, vec![1, 0, 1], hex(D), p, q, dp, dq, qinv]
        }
        // RFC 2409, section 6.2.
        Family::Dh => vec![hex(OAKLEY_GROUP_2), vec![2], Vec::new()],
        Family::Dsa => [DSA_P, DSA_Q, DSA_G].map(hex).to_vec(),
        Family::Weierstrass => {
            let mut parts = P256.map(hex).to_vec();
            // The cofactor; whether the field is binary.
            parts.extend([vec![1], Vec::new()]);
            parts
        }
        Family::Modular => vec![hex(OAKLEY_GROUP_2)],
        // The field of B-163.
        Family::BinaryField => vec![hex("0800000000000000000000000000000000000000c9")],
        _ => Vec::new(),
    }
}

/// The source of a request.
pub fn source(runtime: &Runtime, operation: Operation, variant: u8, lane: u8) -> Vec<u8> {
    let get = |operation, variant, src: &[u8]| {
        one(runtime, operation, variant, src.to_vec()).expect("a valid request")
    };
    // A scalar of so many bytes, below any order of as many.
    let scalar = |len: usize, seed: u8| [vec![0], noise(len - 1, seed)].concat();
    let digest = noise(32, 50 + lane);
    let seed = 10 + lane;
    let curve = Operation::curve(variant);
    match operation {
        Operation::RsaPrivate | Operation::RsaPublic | Operation::RsaRecover => {
            let private = operation == Operation::RsaPrivate;
            match SCHEMES[usize::from(variant) % SCHEMES.len()] {
                RsaScheme::Pkcs1Sign(hash) => {
                    let digest = match hash {
                        Some(lookaside::Hash::Md5Sha1) => noise(36, seed),
                        _ => digest,
                    };
                    signed(operation, &digest, |src| get(Operation::RsaPrivate, variant, src))
                }
                RsaScheme::Pss { salt: lookaside::SaltLen::Exactly(_), .. } => {
                    signed(operation, &digest, |src| get(Operation::RsaPrivate, variant, src))
                }
                RsaScheme::Pkcs1Encrypt | RsaScheme::Pkcs1Tls { .. } if private => {
                    // 00, 02, no zeros, 00, a premaster secret of TLS 1.2.
                    let mut padded = vec![lane + 1; 128];
                    (padded[0], padded[1], padded[79]) = (0, 2, 0);
                    (padded[80], padded[81]) = (3, 3);
                    get(Operation::RsaPublic, 0, &padded)
                }
                RsaScheme::Pkcs1Encrypt | RsaScheme::Pkcs1Tls { .. } => noise(20, seed),
                RsaScheme::Oaep { .. } if private => [noise(3, 0), scalar(128, seed)].concat(),
                RsaScheme::Oaep { .. } => noise(20, seed),
                _ => scalar(128, seed),
            }
        }
        Operation::DhPublic => scalar(128, seed),
        Operation::DhDerive => {
            let peer = get(Operation::DhPublic, 0, &scalar(128, seed + 1));
            [scalar(128, seed), peer].concat()
        }
        Operation::DsaSign => [hex(DSA_X), digest].concat(),
        Operation::DsaVerify => {
            let signature = get(Operation::DsaSign, 0, &[hex(DSA_X), digest.clone()].concat());
            [hex(DSA_Y), signature, digest].concat()
        }
        Operation::EcPublic => scalar(curve.order_len(), seed),
        Operation::EcDerive => {
            let public = variant % lookaside::Curve::ALL.len() as u8;
            let peer = get(Operation::EcPublic, public, &scalar(curve.order_len(), seed + 1));
            [scalar(curve.order_len(), seed), peer].concat()
        }
        Operation::EcSign => [scalar(curve.order_len(), seed), digest].concat(),
        Operation::EcVerify => {
            let private = scalar(curve.order_len(), seed);
            let public = get(Operation::EcPublic, variant, &private);
            let signed = [private, digest.clone()].concat();
            [public, get(Operation::EcSign, variant, &signed), digest].concat()
        }
        Operation::Point => {
            let generator = [hex(P256[3]), hex(P256[4])].concat();
            match STEPS[usize::from(variant)] {
                lookaside::PointStep::Multiply => [scalar(32, seed), generator].concat(),
                lookaside::PointStep::MultiplyGenerator => scalar(32, seed),
                lookaside::PointStep::Add => generator.repeat(2),
                _ => generator,
            }
        }
        Operation::XdhPublic => noise(Operation::xdh_curve(variant).key_len(), seed),
        Operation::XdhDerive => noise(2 * Operation::xdh_curve(variant).key_len(), seed),
        Operation::EdPublic => noise(Operation::ed_curve(variant).key_len(), seed),
        Operation::EdSign | Operation::EdVerify => {
            let private = noise(Operation::ed_curve(variant).key_len(), seed);
            let public = get(Operation::EdPublic, variant, &private);
            // Of one block of SHA-512, and more.
            let message = noise(30 * usize::from(lane), seed);
            let sign = [private, public.clone(), message.clone()].concat();
            if operation == Operation::EdSign {
                return sign;
            }
            [public, get(Operation::EdSign, variant, &sign), message].concat()
        }
        Operation::Sm2Public => scalar(32, seed),
        Operation::Sm2Sign => [scalar(32, seed), digest].concat(),
        // GB/T 32918.5, A.2.
        Operation::Sm2Verify => [SM2_POINT, SM2_SIGNATURE, SM2_DIGEST].map(hex).concat(),
        Operation::Sm2Encrypt => [hex(SM2_POINT), noise(40, seed)].concat(),
        Operation::Sm2Decrypt => [hex(SM2_PRIVATE), sealed()].concat(),
        Operation::Sm2Exchange => {
            let public = |seed| get(Operation::Sm2Public, 0, &scalar(32, seed));
            let own = [scalar(32, seed), scalar(32, seed + 1), public(seed + 1)].concat();
            [own, public(seed + 2), public(seed + 3), noise(64, seed)].concat()
        }
        Operation::Sm2Identity => [hex(SM2_POINT), noise(16, seed)].concat(),
        Operation::Modular => [scalar(128, seed), scalar(128, seed + 1)].concat(),
        Operation::BinaryField => [scalar(21, seed), scalar(21, seed + 1)].concat(),
        // 2^127 - 1.
        Operation::PrimeCheck => [vec![0x7f], vec![0xff; 15]].concat(),
        Operation::TlsPrf | Operation::Hkdf => [vec![20, 10], noise(60, seed)].concat(),
    }
}

/// The digest to sign; or its signature and, to be verified, the digest.
fn signed(operation: Operation, digest: &[u8], sign: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    match operation {
        Operation::RsaPrivate => digest.to_vec(),
        Operation::RsaRecover => sign(digest),
        _ => [&sign(digest)[..], digest].concat(),
    }
}

/// Some bytes, none of them 0.
fn noise(len: usize, seed: u8) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    let next = |_| {
        // xorshift64, Marsaglia 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8 | 1
    };
    (0..len).map(next).collect()
}

/// A ciphertext in DER: x, y, hash and what is encrypted, of GB/T 32918.5, C.2.
fn sealed() -> Vec<u8> {
    let item = |kind: u8, content: &[u8]| [&[kind, content.len() as u8], content].concat();
    let content = [
        item(2, &hex(SM2_SEALED[0])),
        item(2, &hex(SM2_SEALED[1])),
        item(4, &hex(SM2_SEALED[2])),
        item(4, &hex(SM2_SEALED[3])),
    ];
    item(0x30, &content.concat())
}

pub fn hex(text: &str) -> Vec<u8> {
    let byte = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// The private exponent of [`RSA_1024`].
const D: &str = "3a60b18cc7f13a56ccd846ac6b356d9abbe2faa23632cffb507f28ef98073c2bd2fb5014a9903093adf15050\
     8ec0a3a096a555183bd413c3d57a1a888f7981378d335122073f36ed7f77bcdf9a0880b26061b24b21c15006\
     2179041c32fd7efd695689ad9656f74726b39e59926faaa3977369c5c5d5c7d3f5d73de3e052bc65";

/// RFC 2409, section 6.2.
const OAKLEY_GROUP_2: &str = "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a0879\
     8e3404ddef9519b3cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b\
     0bff5cb6f406b7edee386bfb5a899fa5ae9f24117c4b1fe649286651ece65381ffffffffffffffff";

/// RFC 6979, A.2.1.
const DSA_P: &str = "86f5ca03dcfeb225063ff830a0c769b9dd9d6153ad91d7ce27f787c43278b447e6533b86b18bed6e8a48b784\
     a14c252c5be0dbf60b86d6385bd2f12fb763ed8873abfd3f5ba2e0a8c0a59082eac056935e529daf7c610467\
     899c77adedfc846c881870b7b19b2b58f9be0521a17002e3bdd6b86685ee90b3d9a1b02b782b1779";
const DSA_Q: &str = "996f967f6c8e388d9e28d01e205fba957a5698b1";
const DSA_G: &str = "07b0f92546150b62514bb771e2a0c0ce387f03bda6c56b505209ff25fd3c133d89bbcd97e904e09114d9a7de\
     fdeadfc9078ea544d2e401aeecc40bb9fbbf78fd87995a10a1c27cb7789b594ba7efb5c4326a9fe59a070e13\
     6db77175464adca417be5dce2f40d10a46a3a3943f26ab7fd9c0398ff8c76ee0a56826a8a88f1dbd";
const DSA_X: &str = "411602cb19a6ccc34494d79d98ef1e7ed5af25f7";
const DSA_Y: &str = "5df5e01ded31d0297e274e1691c192fe5868fef9e19a84776454b100cf16f65392195a38b90523e2542ee618\
     71c0440cb87c322fc4b4d2ec5e1e7ec766e1be8d4ce935437dc11c3c8fd426338933ebfe739cb3465f4d3668\
     c5e473508253b1e682f65cbdc4fae93c2ea212390e54905a86e2223170b44eaa7da5dd9ffcfb7f3b";

/// SP 800-186: p, a, b, the generator, the order.
const P256: [&str; 6] = [
    "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
    "ffffffff00000001000000000000000000000000fffffffffffffffffffffffc",
    "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b",
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
];

/// GB/T 32918.5, A.2 and C.2.
const SM2_PRIVATE: &str = "3945208f7b2144b13f36e38ac6d39f95889393692860b51a42fb81ef4df7c5b8";
const SM2_POINT: &str = "0409f9df311e5421a150dd7d161e4bc5c672179fad1833fc076bb08ff356f35020\
     ccea490ce26775a52dc6ea718cc1aa600aed05fbf35e084a6632f6072da9ad13";
const SM2_SIGNATURE: &str = "f5a03b0648d2c4630eeac513e1bb81a15944da3827d5b74143ac7eaceee720b3\
     b1b6aa29df212fd8763182bc0d421ca1bb9038fd1f7f42d4840b69c485bbc1aa";
const SM2_DIGEST: &str = "f0b43e94ba45accaace692ed534382eb17e6ab5a19ce7b31f4486fdfc0d28640";
/// As DER wants it: y with a zero before its highest bit.
const SM2_SEALED: [&str; 4] = [
    "04ebfc718e8d1798620432268e77feb6415e2ede0e073c0f4f640ecd2e149a73",
    "00e858f9d81e5430a57b36daab8f950a3c64e6ee6a63094d99283aff767e124df0",
    "59983c18f809e262923c53aec295d30383b54e39d609d160afcb1908d0bd8766",
    "21886ca989ca9c7d58087307ca93092d651efa",
];
