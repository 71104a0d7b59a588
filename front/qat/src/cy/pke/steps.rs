//! Arithmetic modulo a number, step by step: what operations consist of that are not one request of the runtime.
//!
//! A step is a call that waits, on the thread that submits or polls. The heavy step of an operation goes through the
//! ring instead.

use lookaside::{Arithmetic, BinaryField, Buf, Modular, OpError, Request};
use zeroize::Zeroizing;

use super::{
    cache::Cache,
    number::{Secret, Whole, bits, compare, stripped},
    request::{place, written},
};
use crate::{process::Process, refusal::Refusal};

/// Numbers modulo n, or polynomials modulo one.
#[derive(Clone)]
pub struct Residues {
    session: Session,
    process: &'static Process,
    len: usize,
    modulus: Modulus,
}

#[derive(Clone)]
enum Session {
    Modular(Modular),
    Binary(BinaryField),
}

type Modulus = std::sync::Arc<Zeroizing<Vec<u8>>>;

const MODULUS: &str = "a modulus of 0, or of more than 8192 bits";

/// Moduli of programs.
static KEPT: Cache<Residues> = Cache::new();

/// Forgets them: the modulus of a power may be a secret prime.
pub(super) fn forget_moduli() {
    KEPT.clear();
}

impl Residues {
    /// Modulo a number, which may be secret.
    ///
    /// # Errors
    /// For 0, and for more than 8192 bits.
    pub fn new(process: &'static Process, n: &[u8]) -> Result<Residues, Refusal> {
        let n = stripped(n);
        let session = process.runtime().modular(n).map_err(|_| Refusal::invalid(MODULUS))?;
        let session = Session::Modular(session);
        let modulus = Modulus::new(Zeroizing::new(n.to_vec()));
        Ok(Residues { session, process, len: n.len(), modulus })
    }

    /// The same, kept for the next request with this number.
    ///
    /// # Errors
    /// As [`Residues::new`].
    pub fn kept(process: &'static Process, n: &[u8]) -> Result<Residues, Refusal> {
        let n = stripped(n);
        KEPT.get(&[n], || Residues::new(process, n))
    }

    /// The field GF(2^m) with this polynomial, kept.
    ///
    /// # Errors
    /// For what is no polynomial of a field that the runtime has.
    pub fn binary(process: &'static Process, polynomial: &[u8]) -> Result<Residues, Refusal> {
        static KEPT: Cache<Residues> = Cache::new();
        let n = stripped(polynomial);
        KEPT.get(&[n], || {
            let session = process.runtime().binary_field(n);
            let session =
                session.map_err(|_| Refusal::invalid("no polynomial of a binary field"))?;
            let modulus = Modulus::new(Zeroizing::new(n.to_vec()));
            let len = (bits(n) - 1).div_ceil(8);
            Ok(Residues { session: Session::Binary(session), process, len, modulus })
        })
    }

    /// Bytes of a residue.
    #[allow(clippy::len_without_is_empty)] // No modulus is empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// n, without zeros in front.
    pub fn modulus(&self) -> &[u8] {
        &self.modulus
    }

    /// The request for one step; all parts but an exponent are residues.
    pub fn request(&self, step: Arithmetic, parts: &[&[u8]]) -> Request {
        let (src, dst) = (Buf::secret(parts.concat()), place(self.len));
        match &self.session {
            Session::Modular(session) => session.arithmetic(step, src, dst),
            Session::Binary(session) => session.arithmetic(step, src, dst),
        }
    }

    fn step(&self, step: Arithmetic, parts: &[&[u8]]) -> Result<Secret, OpError> {
        let response = self.process.call(self.request(step, parts));
        written(&response).map(|bytes| Zeroizing::new(bytes.to_vec()))
    }

    /// Any number, mod n.
    ///
    /// # Errors
    /// What the runtime answers, here and below.
    pub fn reduce(&self, number: &[u8]) -> Result<Secret, OpError> {
        let number = stripped(number);
        let mut residue = Zeroizing::new(Vec::with_capacity(self.len));
        if compare(number, &self.modulus).is_lt() {
            residue.resize(self.len - number.len(), 0);
            residue.extend_from_slice(number);
            return Ok(residue);
        }
        if number.len() <= 2 * self.len {
            return self.step(Arithmetic::Reduce, &[number]);
        }
        let (_, rest) = Whole::new(number).divide(&Whole::new(&self.modulus));
        self.reduce(&rest.bytes())
    }

    /// a + b.
    ///
    /// # Errors
    /// As [`Residues::reduce`].
    pub fn sum(&self, a: &[u8], b: &[u8]) -> Result<Secret, OpError> {
        self.step(Arithmetic::Add, &[a, b])
    }

    /// a - b.
    ///
    /// # Errors
    /// As [`Residues::reduce`].
    pub fn difference(&self, a: &[u8], b: &[u8]) -> Result<Secret, OpError> {
        self.step(Arithmetic::Subtract, &[a, b])
    }

    /// a b.
    ///
    /// # Errors
    /// As [`Residues::reduce`].
    pub fn product(&self, a: &[u8], b: &[u8]) -> Result<Secret, OpError> {
        self.step(Arithmetic::Multiply, &[a, b])
    }

    /// 1 / a.
    ///
    /// # Errors
    /// `BadInput` where there is none.
    pub fn inverse(&self, a: &[u8]) -> Result<Secret, OpError> {
        self.step(Arithmetic::Invert, &[a])
    }
}
