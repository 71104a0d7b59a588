//! Ciphers, the AEAD and the MAC of many packets by our own kernels; hashes are in `hash.rs`.

use arrayvec::ArrayVec;
use lookaside_cipher_kernel::{aes, arc4, chacha20, des, kasumi, poly1305, sm4, snow3g, zuc};
use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use super::alone::{counter, part};
use super::hash::text;
use super::{Group, MOST, Tags};
use crate::single::regions::apart;
use crate::{Cipher, Direction, Packet};

/// A cipher in the lanes of our kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnCipher(pub Cipher);

/// The keys that our kernels want. What they hold is cleared when dropped.
pub(crate) enum OwnKey {
    Aes(SecureBox<aes::Key>),
    Gcm(SecureBox<aes::gcm::Key>),
    #[cfg(target_arch = "x86_64")]
    GcmBurst(SecureBox<aes::gcm_burst::Key>),
    Des(SecureBox<des::Key>),
    TripleDes(SecureBox<des::TripleKey>),
    Sm4(SecureBox<sm4::Key>),
    Kasumi(SecureBox<kasumi::Key>),
    /// SNOW 3G, ZUC: the cipher's or the MAC's.
    Stream(SecureBox<[u8; 16]>),
    Arc4(SecureBox<arc4::Stream>),
    ChaCha20(SecureBox<[u8; 32]>),
}

/// A copy of a key that is used as it is; none of another length.
pub(crate) fn copied<const N: usize>(key: &[u8]) -> Option<SecureBox<[u8; N]>> {
    let key: &[u8; N] = key.try_into().ok()?;
    let mut copy = SecureBox::new([0; N]);
    copy.copy_from_slice(key);
    Some(copy)
}

impl OwnKey {
    pub(crate) fn new(cpu: &Cpu, cipher: Cipher, key: &[u8]) -> Option<OwnKey> {
        Some(match cipher {
            Cipher::AesCbc | Cipher::AesEcb | Cipher::AesCtr => OwnKey::aes(cpu, key)?,
            Cipher::DesEcb | Cipher::DesCbc => OwnKey::des(key)?,
            Cipher::TripleDesEcb | Cipher::TripleDesCbc | Cipher::TripleDesCtr => {
                OwnKey::triple_des(key)?
            }
            Cipher::Sm4Ecb | Cipher::Sm4Cbc | Cipher::Sm4Ctr => OwnKey::sm4(key)?,
            Cipher::KasumiF8 => OwnKey::kasumi(key)?,
            Cipher::Snow3gUea2 | Cipher::ZucEea3 => OwnKey::stream(key)?,
            Cipher::Arc4 => OwnKey::arc4(key),
            Cipher::ChaCha20 => OwnKey::ChaCha20(copied(key)?),
            _ => return None,
        })
    }

    // A function for each: unoptimised, all of a function's arms have room on the stack, and a key may be
    // expanded on a job's.

    fn des(key: &[u8]) -> Option<OwnKey> {
        let key = key.try_into().ok()?;
        Some(OwnKey::Des(SecureBox::make(|| des::Key::new(key))))
    }

    fn triple_des(key: &[u8]) -> Option<OwnKey> {
        let key = key.try_into().ok()?;
        Some(OwnKey::TripleDes(SecureBox::make(|| des::TripleKey::new(key))))
    }

    fn sm4(key: &[u8]) -> Option<OwnKey> {
        let key = key.try_into().ok()?;
        Some(OwnKey::Sm4(SecureBox::make(|| sm4::Key::new(key))))
    }

    fn arc4(key: &[u8]) -> OwnKey {
        OwnKey::Arc4(SecureBox::make(|| arc4::Stream::new(key)))
    }

    /// None below AVX2.
    pub(crate) fn aes(cpu: &Cpu, key: &[u8]) -> Option<OwnKey> {
        aes::Key::boxed(cpu, key).map(OwnKey::Aes)
    }

    /// For bursts of short texts; none below AVX-512.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn gcm_burst(cpu: &Cpu, key: &[u8]) -> Option<OwnKey> {
        SecureBox::try_make(|| aes::gcm_burst::Key::new(cpu, key)).map(OwnKey::GcmBurst)
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn gcm_burst(_: &Cpu, _: &[u8]) -> Option<OwnKey> {
        None
    }

    /// None below AVX2.
    pub(crate) fn gcm(cpu: &Cpu, key: &[u8]) -> Option<OwnKey> {
        aes::gcm::Key::boxed(cpu, key).map(OwnKey::Gcm)
    }

    pub(crate) fn stream(key: &[u8]) -> Option<OwnKey> {
        Some(OwnKey::Stream(copied(key)?))
    }

    pub(crate) fn kasumi(key: &[u8]) -> Option<OwnKey> {
        let key = key.try_into().ok()?;
        Some(OwnKey::Kasumi(SecureBox::make(|| kasumi::Key::new(key))))
    }
}

/// The packets of a group, to be changed.
fn members<'p, 'a>(
    packets: &'p mut [Packet<'a>],
    group: Group,
) -> impl Iterator<Item = (usize, &'p mut Packet<'a>)> {
    packets.iter_mut().enumerate().filter(move |(place, _)| group.contains(*place))
}

/// The first `N` bytes of an IV, which admission has measured; those that are missing are a counter
/// of 32 bits that begins with 1.
fn first<const N: usize>(iv: &[u8]) -> [u8; N] {
    let mut block = [0; N];
    let len = iv.len().min(N);
    block[..len].copy_from_slice(&iv[..len]);
    if len < N {
        block[N - 1] = 1;
    }
    block
}

/// Calls a kernel of a mode with an IV or a counter.
macro_rules! with_iv {
    ($cpu:ident, $packets:ident, $group:ident, $key:ident, $n:literal, $kind:ident, $field:ident,
        $($call:tt)*) => {{
        let mut ivs: ArrayVec<[u8; $n], MOST> = $group.map(|place| first($packets[place].iv)).collect();
        let mut list: ArrayVec<_, MOST> = ArrayVec::new();
        for ((_, packet), $field) in members($packets, $group).zip(&mut ivs) {
            if let Some(OwnKey::$key(key)) = &packet.session.plan().own_key {
                let text = part(&mut packet.text, packet.parts.cipher);
                list.push($kind { key: &**key, $field, text });
            }
        }
        $($call)*($cpu, &mut list);
    }};
}

/// Calls a kernel of the electronic code book.
macro_rules! without_iv {
    ($cpu:ident, $packets:ident, $group:ident, $key:ident, $kind:ident, $($call:tt)*) => {{
        let mut list: ArrayVec<_, MOST> = ArrayVec::new();
        for (_, packet) in members($packets, $group) {
            if let Some(OwnKey::$key(key)) = &packet.session.plan().own_key {
                let text = part(&mut packet.text, packet.parts.cipher);
                list.push($kind { key: &**key, text });
            }
        }
        $($call)*($cpu, &mut list);
    }};
}

/// Encrypts or decrypts by a kernel of SNOW 3G or ZUC, which have the same packets.
fn keystream(
    cpu: &Cpu,
    packets: &mut [Packet<'_>],
    group: Group,
    kernel: fn(&Cpu, &mut [zuc::Packet<'_>]),
) {
    let mut list: ArrayVec<_, MOST> = ArrayVec::new();
    for (_, packet) in members(packets, group) {
        if let Some(OwnKey::Stream(key)) = &packet.session.plan().own_key {
            let iv = first(packet.iv);
            let text = part(&mut packet.text, packet.parts.cipher);
            list.push(zuc::Packet { key, iv, text });
        }
    }
    kernel(cpu, &mut list);
}

/// Makes the tags of the authenticated regions of a group of packets, by a kernel of SNOW 3G or ZUC.
pub(crate) fn keystream_tags(
    cpu: &Cpu,
    packets: &[Packet<'_>],
    group: Group,
    tags: &mut Tags,
    kernel: fn(&Cpu, &mut [zuc::Message<'_>]),
) {
    let mut list: ArrayVec<_, MOST> = ArrayVec::new();
    for place in group {
        let packet = &packets[place];
        if let Some(OwnKey::Stream(key)) = &packet.session.plan().own_key {
            let data = super::steps::source(&packet.text, packet.parts.auth);
            list.push(zuc::Message { key, iv: first(packet.iv), data, tag: [0; 4] });
        }
    }
    kernel(cpu, &mut list);
    for (place, packet) in group.zip(&list) {
        tags[place][..4].copy_from_slice(&packet.tag);
    }
}

/// Encrypts or decrypts the cipher regions of a group of packets.
pub(crate) fn cipher(
    cpu: &Cpu,
    cipher: OwnCipher,
    direction: Direction,
    packets: &mut [Packet<'_>],
    group: Group,
) {
    use des::{Cbc as DesCbc, Ctr as DesCtr, Ecb as DesEcb};
    use sm4::{Cbc, Ctr, Ecb};
    let seal = direction == Direction::Seal;
    match cipher.0 {
        Cipher::AesCbc => aes_cbc(direction, packets, group),
        Cipher::AesCtr => {
            for place in group {
                let packet = &mut packets[place];
                if let (Some(OwnKey::Aes(key)), Some(counter)) =
                    (&packet.session.plan().own_key, counter(packet.iv))
                {
                    let text = part(&mut packet.text, packet.parts.cipher);
                    aes::ctr_from(key, counter, text);
                }
            }
        }
        Cipher::AesEcb => {
            for place in group {
                let packet = &mut packets[place];
                let Some(OwnKey::Aes(key)) = &packet.session.plan().own_key else { continue };
                let text = part(&mut packet.text, packet.parts.cipher);
                match direction {
                    Direction::Seal => aes::ecb_encrypt(key, text),
                    Direction::Open => aes::ecb_decrypt(key, text),
                }
            }
        }
        Cipher::DesCbc if seal => {
            with_iv!(cpu, packets, group, Des, 8, DesCbc, iv, des::cbc_encrypt)
        }
        Cipher::DesCbc => with_iv!(cpu, packets, group, Des, 8, DesCbc, iv, des::cbc_decrypt),
        Cipher::TripleDesCbc if seal => {
            with_iv!(cpu, packets, group, TripleDes, 8, DesCbc, iv, des::cbc_encrypt);
        }
        Cipher::TripleDesCbc => {
            with_iv!(cpu, packets, group, TripleDes, 8, DesCbc, iv, des::cbc_decrypt);
        }
        Cipher::TripleDesCtr => {
            with_iv!(cpu, packets, group, TripleDes, 8, DesCtr, counter, des::ctr);
        }
        Cipher::DesEcb if seal => without_iv!(cpu, packets, group, Des, DesEcb, des::ecb_encrypt),
        Cipher::DesEcb => without_iv!(cpu, packets, group, Des, DesEcb, des::ecb_decrypt),
        Cipher::TripleDesEcb if seal => {
            without_iv!(cpu, packets, group, TripleDes, DesEcb, des::ecb_encrypt);
        }
        Cipher::TripleDesEcb => {
            without_iv!(cpu, packets, group, TripleDes, DesEcb, des::ecb_decrypt);
        }
        Cipher::Sm4Cbc if seal => with_iv!(cpu, packets, group, Sm4, 16, Cbc, iv, sm4::cbc_encrypt),
        Cipher::Sm4Cbc => with_iv!(cpu, packets, group, Sm4, 16, Cbc, iv, sm4::cbc_decrypt),
        Cipher::Sm4Ctr => with_iv!(cpu, packets, group, Sm4, 16, Ctr, counter, sm4::ctr),
        Cipher::Sm4Ecb if seal => without_iv!(cpu, packets, group, Sm4, Ecb, sm4::ecb_encrypt),
        Cipher::Sm4Ecb => without_iv!(cpu, packets, group, Sm4, Ecb, sm4::ecb_decrypt),
        Cipher::KasumiF8 => {
            let mut list: ArrayVec<_, MOST> = ArrayVec::new();
            for (_, packet) in members(packets, group) {
                if let Some(OwnKey::Kasumi(key)) = &packet.session.plan().own_key {
                    let (iv, spare_bits) = (first(packet.iv), packet.parts.spare_bits);
                    let text = part(&mut packet.text, packet.parts.cipher);
                    list.push(kasumi::F8 { key, iv, text, spare_bits });
                }
            }
            kasumi::f8(cpu, &mut list);
        }
        Cipher::Snow3gUea2 => keystream(cpu, packets, group, snow3g::uea2_many),
        Cipher::ZucEea3 => keystream(cpu, packets, group, zuc::eea3_many),
        Cipher::Arc4 => {
            let key = |place: usize| match &packets[place].session.plan().own_key {
                Some(OwnKey::Arc4(stream)) => Some((**stream).clone()),
                _ => None,
            };
            let mut streams: ArrayVec<arc4::Stream, MOST> = group.filter_map(key).collect();
            let mut list: ArrayVec<_, MOST> = members(packets, group)
                .zip(&mut streams)
                .map(|((_, packet), stream)| (stream, part(&mut packet.text, packet.parts.cipher)))
                .collect();
            arc4::apply_many(&mut list);
        }
        Cipher::ChaCha20 => {
            let mut list: ArrayVec<_, MOST> = ArrayVec::new();
            for (_, packet) in members(packets, group) {
                let (Some(OwnKey::ChaCha20(key)), Some((counter, nonce))) =
                    (&packet.session.plan().own_key, packet.iv.split_first_chunk::<4>())
                else {
                    continue;
                };
                let Ok(nonce) = nonce.try_into() else { continue };
                let text = part(&mut packet.text, packet.parts.cipher);
                let counter = u32::from_le_bytes(*counter);
                list.push(chacha20::Packet { key, counter, nonce, text });
            }
            chacha20::apply(cpu, &mut list);
        }
        _ => {}
    }
}

/// AES in CBC mode: encryption in lanes, decryption packet by packet.
fn aes_cbc(direction: Direction, packets: &mut [Packet<'_>], group: Group) {
    #[cfg(target_arch = "x86_64")]
    if direction == Direction::Seal {
        let mut list: ArrayVec<aes::lanes::Cbc<'_>, MOST> = ArrayVec::new();
        for (_, packet) in members(packets, group) {
            if let (Some(OwnKey::Aes(key)), Ok(iv)) =
                (&packet.session.plan().own_key, packet.iv.try_into())
            {
                let text = part(&mut packet.text, packet.parts.cipher);
                list.push(aes::lanes::Cbc { key, iv, text });
            }
        }
        return aes::lanes::cbc_encrypt(&mut list);
    }
    for (_, packet) in members(packets, group) {
        if let Some(OwnKey::Aes(key)) = &packet.session.plan().own_key {
            let text = part(&mut packet.text, packet.parts.cipher);
            match direction {
                Direction::Seal => aes::cbc_encrypt(key, &mut first(packet.iv), text),
                Direction::Open => aes::cbc_decrypt(key, &mut first(packet.iv), text),
            }
        }
    }
}

/// KASUMI F9 over the authenticated regions of a group of packets.
pub(crate) fn kasumi_f9(cpu: &Cpu, packets: &[Packet<'_>], group: Group, tags: &mut Tags) {
    let mut list: ArrayVec<_, MOST> = ArrayVec::new();
    for place in group {
        let packet = &packets[place];
        if let Some(OwnKey::Kasumi(key)) = &packet.session.plan().own_key {
            let data = super::steps::source(&packet.text, packet.parts.auth);
            let (iv, direction) = (first(packet.iv), packet.iv[8]);
            let spare_bits = packet.parts.spare_bits;
            list.push(kasumi::F9 { key, iv, direction, data, spare_bits, tag: [0; 4] });
        }
    }
    kasumi::f9(cpu, &mut list);
    for (place, packet) in group.zip(&list) {
        tags[place][..4].copy_from_slice(&packet.tag);
    }
}

/// Poly1305 over the authenticated regions of a group of packets.
pub(crate) fn poly1305(
    cpu: &Cpu,
    of_destination: bool,
    packets: &[Packet<'_>],
    group: Group,
    tags: &mut Tags,
) {
    let mut list: ArrayVec<poly1305::Message<'_>, MOST> = ArrayVec::new();
    for place in group {
        let packet = &packets[place];
        if let Some(key) = &packet.session.plan().one_time {
            let data = text(&packet.text, packet.parts.auth, of_destination);
            list.push(poly1305::Message { key, data, tag: [0; 16] });
        }
    }
    poly1305::many(cpu, &mut list);
    for (place, message) in group.zip(&list) {
        tags[place][..16].copy_from_slice(&message.tag);
    }
}

/// ChaCha20-Poly1305. The associated data of a text in place do not overlap its cipher region.
pub(crate) fn chacha20_poly1305(
    cpu: &Cpu,
    direction: Direction,
    packets: &mut [Packet<'_>],
    group: Group,
    tags: &mut Tags,
) {
    let mut list: ArrayVec<chacha20::Sealed<'_>, MOST> = ArrayVec::new();
    for (_, packet) in members(packets, group) {
        let (Some(OwnKey::ChaCha20(key)), Ok(nonce)) =
            (&packet.session.plan().own_key, packet.iv.try_into())
        else {
            continue;
        };
        let Packet { parts, text, .. } = packet;
        let Some((aad, text)) = apart(text, parts.aad, parts.cipher) else { continue };
        list.push(chacha20::Sealed { key, nonce, aad, text, tag: [0; 16] });
    }
    match direction {
        Direction::Seal => chacha20::seal(cpu, &mut list),
        Direction::Open => chacha20::open(cpu, &mut list),
    }
    for (place, packet) in group.zip(&list) {
        tags[place][..16].copy_from_slice(&packet.tag);
    }
}
