//! ARC4: RFC 6229, and AWS-LC's RC4 for every length and for batches.

mod blocks;

use aws_lc_sys as lc;
use blocks::{Numbers, Packet};
use lookaside_cipher_kernel::{Text, arc4};

/// A key's stream by AWS-LC.
fn stream(key: &[u8], len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    // SAFETY: the key's bytes; as many bytes in place.
    unsafe {
        let mut state = std::mem::zeroed::<lc::RC4_KEY>();
        lc::RC4_set_key(&mut state, key.len().try_into().expect("short"), key.as_ptr());
        lc::RC4(&mut state, len, out.as_ptr(), out.as_mut_ptr());
    }
    out
}

/// RFC 6229, section 2: for some keys, bytes of the stream at an offset.
#[test]
fn rfc_6229() {
    let key: Vec<u8> = (1..=32).collect();
    let cases: [(&[u8], usize, u128); 6] = [
        (&key[..5], 0, 0xb2396305f03dc027ccc3524a0a1118a8),
        (&key[..5], 16, 0x6982944f18fc82d589c403a47a0d0919),
        (&key[..7], 0, 0x293f02d47f37c9b633f2af5285feb46b),
        (&key[..16], 0, 0x9ac7cc9a609d1ef7b2932899cde41b97),
        (&key[..16], 16, 0x5248c4959014126a6e8a84f11d1a9e1c),
        (&key[..32], 0, 0xeaa6bd25880bf93d3f5d1e4ca2611d91),
    ];
    for (key, offset, wanted) in cases {
        let mut text = vec![0; offset + 16];
        arc4::Stream::new(key).apply(&mut Text::InPlace(&mut text));
        assert_eq!(text[offset..], wanted.to_be_bytes(), "{} bytes of key", key.len());
    }
    let random = 0xebb46227c6cc8b37641910833222772au128.to_be_bytes();
    let mut text = [0; 16];
    arc4::Stream::new(&random).apply(&mut Text::InPlace(&mut text));
    assert_eq!(u128::from_be_bytes(text), 0x720c94b63edf44e131d950ca211a5a30);
}

#[test]
fn agrees_with_aws_lc_in_pieces_and_batches() {
    let mut numbers = Numbers(0x9e3779b97f4a7c15);
    for len in [1, 2, 5, 16, 128, 255, 256] {
        let key = numbers.bytes(len);
        let mut text = vec![0; 600];
        arc4::Stream::new(&key).apply(&mut Text::InPlace(&mut text));
        assert_eq!(text, stream(&key, 600), "{len} bytes of key");
    }
    for count in 0..=40 {
        let keys: Vec<_> = (0..count).map(|_| numbers.bytes(16)).collect();
        let mut streams: Vec<_> = keys.iter().map(|key| arc4::Stream::new(key)).collect();
        let mut done = vec![0; count];
        // The stream goes on from one call to the next.
        for _ in 0..3 {
            let mut batch: Vec<_> = (0..count)
                .map(|_| {
                    let len = numbers.below(70);
                    Packet::<16>::new(&mut numbers, 1, len)
                })
                .collect();
            let mut packets: Vec<_> = streams
                .iter_mut()
                .zip(&mut batch)
                .map(|(stream, packet)| (stream, packet.lend().1))
                .collect();
            arc4::apply_many(&mut packets);
            for (i, packet) in batch.iter().enumerate() {
                let upto = done[i] + packet.text.len();
                let key = stream(&keys[i], upto);
                let wanted: Vec<u8> =
                    packet.text.iter().zip(&key[done[i]..]).map(|(a, b)| a ^ b).collect();
                assert_eq!(packet.result(), wanted, "packet {i} of {count}");
                done[i] = upto;
            }
        }
    }
}
