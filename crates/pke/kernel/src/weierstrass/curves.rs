//! The curves: y^2 = x^3 - 3 x + b, of prime order. b is used by none of the formulas.

use std::sync::OnceLock;

use super::digits::parse;
use super::field::{self, Field};
use super::table::Table;

/// A curve of prime order over a field of `N` digits.
pub(super) trait Shape<const N: usize>: Copy + 'static {
    /// The field of the coordinates.
    type Prime: Field<N>;
    /// The field of the scalars.
    type Order: Field<N>;
    /// Bytes of a coordinate and of a scalar.
    const BYTES: usize;
    /// The generator, x and y.
    const GENERATOR: ([u64; N], [u64; N]);
    /// Bits of a window of the generator's table, at least 5.
    const WINDOW: usize;
    /// Whether signatures are those of GB/T 32918.2.
    const SM2: bool = false;

    /// Where the generator's table is kept.
    fn table() -> &'static OnceLock<Table>;
}

macro_rules! curve {
    ($(#[$doc:meta])* $name:ident, $digits:literal, $prime:ty, $order:ident, $bits:literal,
     $window:literal, $sm2:literal, $n:expr, $x:expr, $y:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        #[doc = concat!("The scalars of ", stringify!($name), ".")]
        #[derive(Clone, Copy)]
        pub(super) struct $order;

        impl Field<$digits> for $order {
            const P: [u64; $digits] = parse($n);
            const BITS: usize = $bits;
        }

        impl Shape<$digits> for $name {
            type Prime = $prime;
            type Order = $order;
            const BYTES: usize = usize::div_ceil($bits, 8);
            const GENERATOR: ([u64; $digits], [u64; $digits]) = (parse($x), parse($y));
            const WINDOW: usize = $window;
            const SM2: bool = $sm2;

            fn table() -> &'static OnceLock<Table> {
                static TABLE: OnceLock<Table> = OnceLock::new();
                &TABLE
            }
        }

        // What the bounds of field.rs and point.rs rest on.
        const _: () = assert!(52 * $digits - $bits >= 4);
    };
}

curve!(
    /// NIST P-224.
    P224, 5, field::P224, P224Order, 224, 7, false,
    "ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d",
    "b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21",
    "bd376388b5f723fb4c22dfe6cd4375a05a07476444d5819985007e34"
);

curve!(
    /// NIST P-256.
    P256, 5, field::P256, P256Order, 256, 7, false,
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
);

curve!(
    /// The curve of GB/T 32918.5.
    Sm2, 5, field::Sm2, Sm2Order, 256, 7, true,
    "fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123",
    "32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7",
    "bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0"
);

curve!(
    /// NIST P-384.
    P384, 8, field::P384, P384Order, 384, 7, false,
    "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf\
     581a0db248b0a77aecec196accc52973",
    "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a38\
     5502f25dbf55296c3a545e3872760ab7",
    "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c0\
     0a60b1ce1d7e819d7a431d7c90ea0e5f"
);

curve!(
    /// NIST P-521.
    P521, 11, field::P521, P521Order, 521, 6, false,
    "1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
     fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
    "c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3d\
     baa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
    "11839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e6\
     62c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650"
);
