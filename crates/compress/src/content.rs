//! A guess at what the content is.

/// So many places are looked at, evenly spread.
const PLACES: usize = 16;
/// So many bytes at each.
const PLACE: usize = 256;

/// Will igzip come out within 2 % of stock zlib here, at its level 2 against -1, and at its level
/// 3 against -2? A guess from 4 KB spread over `src`, in some hundred nanoseconds: yes for text
/// (less than three bytes in ten are control characters or beyond ASCII) and for what is mostly
/// zeros (more than seven in ten); no for the rest, and for nothing.
///
/// igzip is made for text. Of all texts tried, those of the Calgary and Canterbury corpora, logs,
/// pages, tables and sources, none was beyond that, but machine code and some tables of numbers
/// are, by up to 5 %; there libdeflate's levels 1 and 2 keep the limits at half the speed (bench
/// `fit`). Texts have less than a quarter of such bytes, programs half and more.
///
/// ```
/// use lookaside_compress::suits_igzip;
/// assert!(suits_igzip(b"<html><body>Gr\xc3\xbc\xc3\x9fe</body></html>"));
/// assert!(!suits_igzip(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10]));
/// ```
pub fn suits_igzip(src: &[u8]) -> bool {
    let (mut seen, mut zeros, mut others) = (0, 0, 0);
    for place in src.chunks((src.len() / PLACES).max(PLACE)).take(PLACES) {
        let place = &place[..place.len().min(PLACE)];
        let is_text = |byte: u8| (32..128).contains(&byte) || (9..14).contains(&byte);
        seen += place.len();
        zeros += place.iter().filter(|&&byte| byte == 0).count();
        others += place.iter().filter(|&&byte| byte != 0 && !is_text(byte)).count();
    }
    10 * (zeros + others) < 3 * seen || 10 * zeros > 7 * seen
}

#[cfg(test)]
mod tests {
    use super::suits_igzip;

    #[test]
    fn all_places_count() {
        let mut data = vec![b'a'; 1 << 20];
        assert!(suits_igzip(&data));
        // Half of it is no text, wherever that lies.
        data[..1 << 19].fill(200);
        assert!(!suits_igzip(&data));
        data.reverse();
        assert!(!suits_igzip(&data));
        // An eighth is not enough.
        data.fill(b'a');
        data[..1 << 17].fill(200);
        assert!(suits_igzip(&data));
        // Zeros are no text, but nearly nothing else is good again.
        data[..1 << 19].fill(0);
        assert!(!suits_igzip(&data));
        data[..1000 << 10].fill(0);
        assert!(suits_igzip(&data));
        assert!(suits_igzip(&[0; 3]) && suits_igzip(b"abc") && !suits_igzip(&[]));
    }
}
