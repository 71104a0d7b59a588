//! SHA-512 (FIPS 180-4) of eight strings side by side.

use zeroize::Zeroize;

use crate::lanes::{Lanes, Step};

/// The fractional parts of the cube roots of the first 80 primes.
#[rustfmt::skip]
const K: [u64; 80] = [
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
];

/// The fractional parts of the square roots of the first 8 primes.
#[rustfmt::skip]
const START: [u64; 8] = [
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
];

/// The parts of a string, one after the other.
pub(super) type Parts<'a> = [&'a [u8]; 3];

/// The digests: row `i` has bytes `8 i` to `8 i + 7` of each lane's, as a little-endian word. Only
/// the lengths decide what is done and when.
#[inline(always)]
pub(super) fn sha512<V: Lanes>(strings: &[Parts<'_>; 8]) -> [[u64; 8]; 8] {
    let lengths = strings.map(|parts| parts.iter().map(|part| part.len()).sum::<usize>());
    // The string, a byte 0x80, zeros, and 16 bytes of length.
    let blocks = lengths.map(|length| (length + 17).div_ceil(128));
    let most = blocks.iter().copied().max().unwrap_or(0);
    let mut state = [V::splat(0); 8];
    for (word, start) in state.iter_mut().zip(START) {
        *word = V::splat(start);
    }
    let mut rows = [[0; 8]; 16];
    for block in 0..most {
        let mut active = 0;
        for lane in 0..8 {
            if block < blocks[lane] {
                active |= 1 << lane;
                let last = block + 1 == blocks[lane];
                fill(&strings[lane], lengths[lane], 128 * block, last, lane, &mut rows);
            }
        }
        let active = V::mask_from_bits(active);
        let before = state;
        let after = V::take(Compress(&before, &rows));
        for ((word, after), before) in state.iter_mut().zip(after).zip(before) {
            *word = V::select(active, after, before);
        }
    }
    rows.zeroize();
    let mut digests = [[0; 8]; 8];
    for (row, word) in digests.iter_mut().zip(state) {
        word.store(row);
        for word in row {
            *word = word.swap_bytes();
        }
    }
    digests
}

/// Words of the block that begins at `start`, into one lane.
fn fill(
    parts: &Parts<'_>,
    length: usize,
    start: usize,
    last: bool,
    lane: usize,
    rows: &mut [[u64; 8]; 16],
) {
    let mut block = [0; 128];
    // Where in the string the part begins.
    let mut offset = 0;
    for part in parts {
        let from = start.max(offset);
        let to = (start + 128).min(offset + part.len());
        if from < to {
            block[from - start..to - start].copy_from_slice(&part[from - offset..to - offset]);
        }
        offset += part.len();
    }
    if let Some(byte) = length.checked_sub(start).and_then(|end| block.get_mut(end)) {
        *byte = 0x80;
    }
    if last {
        block[112..].copy_from_slice(&(8 * length as u128).to_be_bytes());
    }
    for (row, bytes) in rows.iter_mut().zip(block.chunks_exact(8)) {
        row[lane] = u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
    }
    block.zeroize();
}

/// One block of every lane.
struct Compress<'a, V>(&'a [V; 8], &'a [[u64; 8]; 16]);

impl<V: Lanes> Step for Compress<'_, V> {
    type Output = [V; 8];

    #[inline(always)]
    fn run(self) -> [V; 8] {
        let Compress(state, rows) = self;
        let mut w = [V::splat(0); 16];
        for (word, row) in w.iter_mut().zip(rows) {
            *word = V::load(row);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        macro_rules! round {
            ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $i:expr, $k:expr) => {
                let sigma = $e.ror::<14>().xor($e.ror::<18>()).xor($e.ror::<41>());
                let choice = $e.and($f).xor($g.and($e.xor(V::splat(!0))));
                let first = $h.add(V::splat($k).add(w[$i])).add(choice).add(sigma);
                let sigma = $a.ror::<28>().xor($a.ror::<34>()).xor($a.ror::<39>());
                let majority = $a.and($b).or($c.and($a.or($b)));
                $d = $d.add(first);
                $h = first.add(sigma.add(majority));
            };
        }
        for round in 0..5 {
            let k = &K[16 * round..16 * round + 16];
            if round > 0 {
                for i in 0..16 {
                    let (x, y) = (w[(i + 1) % 16], w[(i + 14) % 16]);
                    let small = x.ror::<1>().xor(x.ror::<8>()).xor(x.shr::<7>());
                    let large = y.ror::<19>().xor(y.ror::<61>()).xor(y.shr::<6>());
                    w[i] = w[i].add(small).add(w[(i + 9) % 16].add(large));
                }
            }
            for half in [0, 8] {
                round!(a b c d e f g h half, k[half]);
                round!(h a b c d e f g half + 1, k[half + 1]);
                round!(g h a b c d e f half + 2, k[half + 2]);
                round!(f g h a b c d e half + 3, k[half + 3]);
                round!(e f g h a b c d half + 4, k[half + 4]);
                round!(d e f g h a b c half + 5, k[half + 5]);
                round!(c d e f g h a b half + 6, k[half + 6]);
                round!(b c d e f g h a half + 7, k[half + 7]);
            }
        }
        let [a0, b0, c0, d0, e0, f0, g0, h0] = *state;
        [a.add(a0), b.add(b0), c.add(c0), d.add(d0), e.add(e0), f.add(f0), g.add(g0), h.add(h0)]
    }
}
