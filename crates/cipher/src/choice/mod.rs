//! Who serves a packet: for each family of CPUs, algorithm and length of text, whoever was the fastest
//! when it was measured, and from how many packets on lanes pay.
//!
//! One file here for each [`Family`], written by `make tune` (`bench/benches/tune.rs`), which forces each
//! candidate in turn ([`Session::only`](crate::Session::only)) and keeps what is quickest. A session
//! looks its row up once; a packet's length is compared with the bounds of a few classes.
//!
//! A table is a preference. Where a session lacks the candidate it names (another build, another key
//! length), the other kind of lanes serves, then [`By::Single`].

mod avx2;
mod avx2_sha;
mod avx2_vaes;
mod avx512;
mod avx512_wide;
mod avx512bw;
mod generic;

use lookaside_simd::{Cpu, Family};

use crate::{Aead, Auth, Cipher, Hash, Sym};

/// Who may serve a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// One packet at a time on the caller's thread: AWS-LC, or a kernel without lanes.
    Single,
    /// Our kernels, packets side by side (AES-GCM, AES-CTR and AES-ECB: one after the other).
    Own,
    /// intel-ipsec-mb's, likewise.
    IpsecMb,
}

impl By {
    /// All candidates.
    pub const ALL: [By; 3] = [By::Single, By::Own, By::IpsecMb];
}

/// Who serves texts of up to so many bytes, where no class before has them; and the fewest packets that
/// it serves at once: fewer are quicker one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class(pub u32, pub By, pub u8);

/// The bound of a row's last class.
pub const ANY: u32 = u32::MAX;

/// The most classes that a row may have.
pub const MOST_CLASSES: usize = 6;

/// What a row is about. Key lengths, tag lengths and the order of a chain make no difference, and a hash
/// that is another one cut short counts as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A cipher alone.
    Cipher(Cipher),
    /// A hash or MAC alone.
    Auth(Auth),
    /// An AEAD.
    Aead(Aead),
    /// A cipher and a hash or MAC.
    Chain(Cipher, Auth),
}

impl Algorithm {
    /// That of a session; none for TLS records, which are always served one at a time.
    pub fn of(spec: &Sym) -> Option<Algorithm> {
        Some(match *spec {
            Sym::Cipher { cipher, .. } => Algorithm::Cipher(cipher),
            Sym::Auth { auth, .. } => Algorithm::Auth(whole(auth)),
            Sym::Aead { aead, .. } => Algorithm::Aead(aead),
            Sym::Chain { cipher, auth, .. } => Algorithm::Chain(cipher, whole(auth)),
            Sym::TlsCbc { .. } => return None,
        })
    }
}

/// The algorithm that another is a cut of.
fn whole(auth: Auth) -> Auth {
    let longer = |hash| match hash {
        Hash::Sha224 => Hash::Sha256,
        Hash::Sha384 => Hash::Sha512,
        Hash::Sha3_224 => Hash::Sha3_256,
        Hash::Sha3_384 => Hash::Sha3_512,
        other => other,
    };
    match auth {
        Auth::Plain(hash) => Auth::Plain(longer(hash)),
        Auth::Hmac(hash) => Auth::Hmac(longer(hash)),
        other => other,
    }
}

/// One algorithm's classes, by their bounds, for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// Encryption; tags.
    pub seal: &'static [Class],
    /// Decryption.
    pub open: &'static [Class],
}

/// The table of a family.
pub fn table(family: Family) -> &'static [Row] {
    match family {
        Family::Generic => generic::TABLE,
        Family::Avx2 => avx2::TABLE,
        Family::Avx2Sha => avx2_sha::TABLE,
        Family::Avx2Vaes => avx2_vaes::TABLE,
        Family::Avx512Bw => avx512bw::TABLE,
        Family::Avx512 => avx512::TABLE,
        Family::Avx512Wide => avx512_wide::TABLE,
    }
}

/// Of what no table has: chains that were not measured. Lanes, for more than one packet.
const UNKNOWN: &[Class] = &[Class(ANY, By::Own, 2)];

/// The classes of a session's row: sealing, opening.
pub(crate) fn classes(spec: &Sym, cpu: &Cpu) -> [&'static [Class]; 2] {
    let Some(algorithm) = Algorithm::of(spec) else { return [&[], &[]] };
    let row = table(cpu.family()).iter().find(|row| row.algorithm == algorithm);
    row.map_or([UNKNOWN; 2], |row| [row.seal, row.open])
}

/// From how many bytes on our kernel is the quicker one for a single text too; none where it never is.
pub(crate) fn own_from(algorithm: Algorithm, cpu: &Cpu) -> Option<usize> {
    let row = table(cpu.family()).iter().find(|row| row.algorithm == algorithm)?;
    ours_alone_from(row.seal)
}

/// Where the last classes begin that are ours from one packet on.
fn ours_alone_from(classes: &[Class]) -> Option<usize> {
    match classes.iter().rposition(|Class(_, by, floor)| (*by, *floor) != (By::Own, 1)) {
        None => Some(0),
        Some(last) => classes.get(last + 1).map(|_| classes[last].0 as usize + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sound() {
        for family in Family::ALL {
            let rows = table(family);
            for (n, row) in rows.iter().enumerate() {
                let name = format!("{family}: {:?}", row.algorithm);
                assert!(rows[..n].iter().all(|other| other.algorithm != row.algorithm), "{name}");
                for classes in [row.seal, row.open] {
                    assert!((1..=MOST_CLASSES).contains(&classes.len()), "{name}");
                    assert!(classes.is_sorted_by(|a, b| a.0 < b.0), "{name}");
                    assert_eq!(classes.last().unwrap().0, ANY, "{name}");
                    assert!(classes.iter().all(|class| class.2 > 0), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_single_text_is_ours_where_one_packet_is() {
        use By::{Own, Single};
        let of = ours_alone_from;
        assert_eq!(of(&[Class(ANY, Own, 1)]), Some(0));
        assert_eq!(of(&[Class(512, Own, 3), Class(ANY, Own, 1)]), Some(513));
        assert_eq!(of(&[Class(64, Own, 1), Class(512, Single, 1), Class(ANY, Own, 1)]), Some(513));
        assert_eq!(of(&[Class(512, Own, 1), Class(ANY, Own, 3)]), None);
        assert_eq!(of(&[Class(512, Own, 1), Class(ANY, Single, 1)]), None);
    }

    #[test]
    fn every_table_has_the_algorithms_of_the_others() {
        let of = |family| table(family).iter().map(|row| row.algorithm).collect::<Vec<_>>();
        for family in Family::ALL {
            assert_eq!(of(family), of(Family::Avx512), "{family}: run `make tune` there");
        }
    }
}
