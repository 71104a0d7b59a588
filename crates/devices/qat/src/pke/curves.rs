//! Elliptic curves, as the interface wants them: by their parameters.

use lookaside_core::Curve;

/// A curve's parameters: big-endian numbers, each as long as the field.
pub(crate) struct Parameters {
    /// The prime, the coefficients, the generator's coordinates, the order.
    pub(crate) p: &'static [u8],
    pub(crate) a: &'static [u8],
    pub(crate) b: &'static [u8],
    pub(crate) x: &'static [u8],
    pub(crate) y: &'static [u8],
    pub(crate) n: &'static [u8],
}

impl Parameters {
    /// Those of a curve that is asked of a card: order and field are as long, the cofactor is 1.
    pub(crate) fn of(curve: Curve) -> Option<&'static Parameters> {
        match curve {
            Curve::P256 => Some(&P256),
            Curve::P384 => Some(&P384),
            _ => None,
        }
    }
}

/// A number in hexadecimal.
const fn number<const N: usize>(hex: &str) -> [u8; N] {
    const fn digit(byte: u8) -> u8 {
        match byte {
            b'0'..=b'9' => byte - b'0',
            _ => byte - b'a' + 10,
        }
    }
    let hex = hex.as_bytes();
    assert!(hex.len() == 2 * N);
    let mut bytes = [0; N];
    let mut i = 0;
    while i < N {
        bytes[i] = digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]);
        i += 1;
    }
    bytes
}

/// SP 800-186, 3.2.1.3.
static P256: Parameters = Parameters {
    p: &number::<32>("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"),
    a: &number::<32>("ffffffff00000001000000000000000000000000fffffffffffffffffffffffc"),
    b: &number::<32>("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b"),
    x: &number::<32>("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
    y: &number::<32>("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"),
    n: &number::<32>("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
};

/// SP 800-186, 3.2.1.4.
static P384: Parameters = Parameters {
    p: &number::<48>(
        "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
    ),
    a: &number::<48>(
        "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000fffffffc",
    ),
    b: &number::<48>(
        "b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef",
    ),
    x: &number::<48>(
        "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
    ),
    y: &number::<48>(
        "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
    ),
    n: &number::<48>(
        "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    ),
};
