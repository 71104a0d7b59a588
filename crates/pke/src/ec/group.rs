//! What a curve's library gives: arithmetic on points, scalars and points as bytes.

use crate::OpError;

/// The most bytes that a field element, a scalar or a digest cut to the order's length has: those
/// of the 571-bit binary curves.
pub(crate) const MAX_LEN: usize = 72;

/// The longest encoded point.
pub(crate) const MAX_POINT: usize = 1 + 2 * MAX_LEN;

/// One curve, by one library.
///
/// Points go in as SEC 1 encodings, compressed or not, and are refused unless they are on the
/// curve and finite; they come out as `0x04 || X || Y`. Scalars are big-endian and have as many
/// bytes as the order. Multiplication by one scalar takes a time that does not depend on it as
/// long as it is below the order.
pub(crate) trait Group: Send + Sync {
    /// Bytes of a field element.
    fn field_len(&self) -> usize;

    /// The order of the generator, without leading zeros.
    fn order(&self) -> &[u8];

    /// The cofactor where it is one byte, as it is on every curve with a name here.
    fn cofactor(&self) -> u8;

    /// Whether `point` is a point of the curve, and finite.
    fn check(&self, point: &[u8]) -> Result<(), OpError>;

    /// `out = scalar * G`.
    fn multiply_generator(&self, scalar: &[u8], out: &mut [u8]) -> Result<(), OpError>;

    /// `out = scalar * point`.
    fn multiply(&self, scalar: &[u8], point: &[u8], out: &mut [u8]) -> Result<(), OpError>;

    /// `out = g * G + scalar * point`. Everything may be treated as public.
    fn multiply_add(
        &self,
        g: &[u8],
        scalar: &[u8],
        point: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpError>;

    /// `out = a + b`.
    fn add(&self, a: &[u8], b: &[u8], out: &mut [u8]) -> Result<(), OpError>;

    /// `out = 2 * a`.
    fn double(&self, a: &[u8], out: &mut [u8]) -> Result<(), OpError>;
}

/// Whether `encoded` has a form that SEC 1 calls compressed or uncompressed, for a field of
/// `field_len` bytes. The hybrid form and the point at infinity are refused.
pub(crate) fn well_formed(encoded: &[u8], field_len: usize) -> bool {
    match encoded.first() {
        Some(4) => encoded.len() == 1 + 2 * field_len,
        Some(2 | 3) => encoded.len() == 1 + field_len,
        _ => false,
    }
}

/// A point that is not on its curve, or not a point at all.
pub(crate) const BAD_POINT: OpError = OpError::BadInput("the point is not on its curve");

/// A result without coordinates.
pub(crate) const INFINITE: OpError = OpError::BadInput("the result is the point at infinity");

/// Where `point` is `0x04 || X || Y`: X.
pub(crate) fn x_of(point: &[u8], field_len: usize) -> &[u8] {
    &point[1..1 + field_len]
}
