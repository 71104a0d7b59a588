//! KASUMI against the test sets of TS 35.203, and tier against tier.

use lookaside_cipher_kernel::{Text, kasumi};
use lookaside_simd::{Cpu, Tier};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|digit| (digit as char).to_digit(16).expect("a digit") as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn array<const N: usize>(text: &str) -> [u8; N] {
    hex(text).try_into().expect("the length")
}

/// Key, IV, plaintext, ciphertext, bits.
const F8: [(&str, &str, &str, &str, usize); 4] = [
    (
        "2BD6459F82C5B300952C49104881FF48",
        "72A4F20F64000000",
        "7EC61272743BF1614726446A6C38CED166F6CA76EB5430044286346CEF130F92922B03450D3A9975\
         E5BD2EA0EB55AD8E1B199E3EC4316020E9A1B285E762795359B7BDFD39BEF4B2484583D5AFE082AE\
         E638BF5FD5A606193901A08F4AB41AAB9B134880",
        "D1E2DE70EEF86C6964FB542BC2D460AABFAA10A4A093262B7D199E706FC2D4891553296910F3A973\
         012682E41C4E2B02BE2017B7253BBF9309DE5819CB42E81956F4C99BC9765CAF53B1D0BB8279826A\
         DBBC5522E915C120A618A5A7F5E897089339650F",
        798,
    ),
    (
        "EFA8B2229E720C2A7C36EA55E9605695",
        "E28BCF7BC0000000",
        "10111231E060253A43FD3F57E37607AB2827B599B6B1BBDA37A8ABCC5A8C550D1BFB2F494624FB50\
         367FA36CE3BC68F11CF93B1510376B02130F812A9FA169D8",
        "3DEACC7C15821CAA89EECADE9B5BD3614BD0C8419D710385DDBE5849EF1BAC5AE8B14A5B0A674152\
         1EB4E00BB9ECF3E9F7CCB9CAE74152D7F4E2A034B6EA00EC",
        510,
    ),
    (
        "5ACB1D644C0D51204EA5F1451010D852",
        "FA556B261C000000",
        "AD9C441F890B38C457A49D421407E8",
        "9BC92CA803C67B28A11A4BEE5A0C25",
        120,
    ),
    (
        "D3C5D592327FB11C4035C6680AF8C6D1",
        "398A59B42C000000",
        "981BA6824C1BFB1AB485472029B71D808CE33E2CC3C0B5FC1F3DE8A6DC66B1F0",
        "5BB9431BB1E98BD11B93DB7C3D45136559BB86A295AA204ECBEBF6F7A5101510",
        253,
    ),
];

#[test]
fn standard_f8() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for (key, iv, plain, cipher, bits) in F8 {
            let key = kasumi::Key::new(&array(key));
            let (mut text, mut expected) = (hex(plain), hex(cipher));
            let spare_bits = (8 * text.len() - bits) as u8;
            // The spare bits stay the source's.
            let spare = !(0xFF << spare_bits);
            let last = text.len() - 1;
            expected[last] = expected[last] & !spare | text[last] & spare;
            let packet =
                kasumi::F8 { key: &key, iv: array(iv), text: Text::InPlace(&mut text), spare_bits };
            kasumi::f8(&cpu, &mut [packet]);
            assert_eq!(text, expected, "{tier}");
        }
    }
}

/// Key, IV, DIRECTION, message, tag, bits.
const F9: [(&str, &str, u8, &str, &str, usize); 5] = [
    (
        "2BD6459F82C5B300952C49104881FF48",
        "38A6F05605D2EC49",
        0,
        "6B227737296F393C8079353EDC87E2E805D2EC49A4F2D8E0",
        "F63BD72C",
        189,
    ),
    (
        "D42F682428201CAFCD9F97945E6DE7B7",
        "3EDC87E2A4F2D8E2",
        1,
        "B5924384328A4AE00B737109F8B6C8DD2B4DB63DD533981CEB19AAD52A5B2BC0",
        "A9DAF1FF",
        254,
    ),
    (
        "FDB9CFDF28936CC483A31869D81B8FAB",
        "36AF61449838F03A",
        1,
        "5932BC0ACE2B0ABA33D8AC188AC54F346FAD10BF9DEE2920B43BD0C53A915CB7DF6CAA72053ABFF2",
        "1537D316",
        319,
    ),
    (
        "C736C6AAB22BFFF91E2698D2E22AD57E",
        "14793E410397E8FD",
        1,
        "D0A7D463DF9FB2B278833FA02E235AA172BD970C1473E12907FB648B6599AAA0B24A038665422B20\
         A499276A50427009",
        "DD7DFADD",
        384,
    ),
    (
        "F4EBEC69E73EAF2EB2CF6AF4B3120FFD",
        "296F393C6B227737",
        1,
        "10BFFF839E0C71658DBB2D1707E145724F41C16F48BF403C3B18E38FD5D1663B6F6D900193E3CEA8\
         BB4F1B4F5BE822032232A78D7D75238D5E6DAECD3B4322CF59BC7EA84AB18811B5BFB7BC553F4FE4\
         4478CE287A14879990D18D12CA79D2C855149021CD5CE8CA0371CA04FCCE143E3D7CFEE94585B588\
         5CAC46068B",
        "C383839D",
        1000,
    ),
];

#[test]
fn standard_f9() {
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for (key, iv, direction, message, tag, bits) in F9 {
            let key = kasumi::Key::new(&array(key));
            let (mut data, expected) = (hex(message), array::<4>(tag));
            let spare_bits = (8 * data.len() - bits) as u8;
            for flipped in [false, true] {
                if flipped {
                    // Bits that are not part of the message do not count.
                    *data.last_mut().unwrap() ^= !(0xFF << spare_bits);
                }
                let data = &data;
                let (iv, tag) = (array(iv), [0; 4]);
                let mut packet = [kasumi::F9 { key: &key, iv, direction, data, spare_bits, tag }];
                kasumi::f9(&cpu, &mut packet);
                assert_eq!(packet[0].tag, expected, "{tier}, {bits} bits");
            }
        }
    }
}

struct Noise(u64);

impl Noise {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        core::array::from_fn(|_| {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 56) as u8
        })
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(u16::from_le_bytes(self.bytes())) % limit
    }
}

#[test]
fn batches_are_packets_one_by_one() {
    let mut noise = Noise(7);
    let generic = Cpu::with_cap(Tier::Generic);
    for round in 0..12 {
        // Few and many, short and long, empty ones among them.
        let packets = [1, 2, 3, 5, 17, 40, 63, 64, 65, 100, 130, 200][round];
        let longest = [1, 8, 9, 64, 65, 128, 200, 300, 520][round % 9];
        let keys: Vec<kasumi::Key> =
            (0..packets).map(|_| kasumi::Key::new(&noise.bytes())).collect();
        let ivs: Vec<[u8; 8]> = (0..packets).map(|_| noise.bytes()).collect();
        let data: Vec<Vec<u8>> = (0..packets)
            .map(|_| (0..noise.below(longest + 1)).map(|_| noise.bytes::<1>()[0]).collect())
            .collect();
        let spare: Vec<u8> = (0..packets).map(|_| noise.below(8) as u8).collect();
        let f8 = |cpu: &Cpu, at: core::ops::Range<usize>, apart: bool| -> Vec<Vec<u8>> {
            let mut sources = data[at.clone()].to_vec();
            let mut out: Vec<Vec<u8>> =
                sources.iter().map(|source| vec![0xEE; source.len() + 1]).collect();
            let mut batch: Vec<kasumi::F8<'_>> = at
                .clone()
                .zip(sources.iter_mut().zip(&mut out))
                .map(|(i, (source, out))| kasumi::F8 {
                    key: &keys[i],
                    iv: ivs[i],
                    text: match apart {
                        true => Text::Apart { src: source, dst: out },
                        false => Text::InPlace(source),
                    },
                    spare_bits: spare[i],
                })
                .collect();
            kasumi::f8(cpu, &mut batch);
            drop(batch);
            if !apart {
                return sources;
            }
            for out in &mut out {
                assert_eq!(out.pop(), Some(0xEE), "beyond the text");
            }
            out
        };
        let f9 = |cpu: &Cpu, at: core::ops::Range<usize>| -> Vec<[u8; 4]> {
            let mut batch: Vec<kasumi::F9<'_>> = at
                .map(|i| kasumi::F9 {
                    key: &keys[i],
                    iv: ivs[i],
                    direction: (i % 2) as u8,
                    data: &data[i],
                    spare_bits: spare[i],
                    tag: [0; 4],
                })
                .collect();
            kasumi::f9(cpu, &mut batch);
            batch.iter().map(|packet| packet.tag).collect()
        };
        // The portable version alone is what the standard's sets prove; it is slow for one packet.
        let whole = f8(&generic, 0..packets, false);
        let tags = f9(&generic, 0..packets);
        let some = packets.min(5);
        for i in (0..packets).step_by(packets.div_ceil(some)) {
            assert_eq!(f8(&generic, i..i + 1, false)[0], whole[i], "packet {i} of {packets}");
            assert_eq!(f9(&generic, i..i + 1)[0], tags[i], "packet {i} of {packets}");
        }
        for tier in Tier::here() {
            let cpu = Cpu::with_cap(tier);
            assert_eq!(f8(&cpu, 0..packets, true), whole, "{tier}, {packets} packets");
            assert_eq!(f9(&cpu, 0..packets), tags, "{tier}, {packets} packets");
        }
    }
}

#[test]
fn pieces_make_a_text() {
    let mut noise = Noise(9);
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        let packets = 70;
        let keys: Vec<kasumi::Key> =
            (0..packets).map(|_| kasumi::Key::new(&noise.bytes())).collect();
        let ivs: Vec<[u8; 8]> = (0..packets).map(|_| noise.bytes()).collect();
        let mut whole: Vec<Vec<u8>> = (0..packets).map(|i| vec![i as u8; 4 * i]).collect();
        let mut pieces = whole.clone();
        let mut batch: Vec<kasumi::F8<'_>> = whole
            .iter_mut()
            .enumerate()
            .map(|(i, text)| kasumi::F8 {
                key: &keys[i],
                iv: ivs[i],
                text: Text::InPlace(text),
                spare_bits: 0,
            })
            .collect();
        kasumi::f8(&cpu, &mut batch);
        let mut streams: Vec<kasumi::Stream> =
            keys.iter().zip(&ivs).map(|(key, iv)| kasumi::Stream::new(&cpu, key, *iv)).collect();
        let mut done = vec![0; packets];
        while done.iter().zip(&pieces).any(|(done, text)| *done < text.len()) {
            let mut batch: Vec<kasumi::Piece<'_>> = Vec::new();
            for ((stream, text), done) in streams.iter_mut().zip(&mut pieces).zip(&mut done) {
                let bytes = noise.below(150).min(text.len() - *done);
                let text = Text::InPlace(&mut text[*done..*done + bytes]);
                batch.push(kasumi::Piece { stream, text });
                *done += bytes;
            }
            kasumi::f8_pieces(&cpu, &mut batch);
        }
        assert_eq!(pieces, whole, "{tier}");
    }
}
