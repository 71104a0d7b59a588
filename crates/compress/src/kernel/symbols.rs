//! What the symbols of DEFLATE stand for (RFC 1951 sections 3.2.5 and 3.2.7).

/// (base, extra bits) of length symbols 257..=285.
pub(crate) const LENGTHS: [(u16, u8); 29] = {
    let mut table = [(0, 0); 29];
    let (mut symbol, mut base) = (0, 3);
    while symbol < 28 {
        let extra = if symbol < 8 { 0 } else { symbol as u8 / 4 - 1 };
        table[symbol] = (base, extra);
        base += 1 << extra;
        symbol += 1;
    }
    table[28] = (258, 0);
    table
};

/// (base, extra bits) of distance symbols 0..=29.
pub(crate) const OFFSETS: [(u16, u8); 30] = {
    let mut table = [(0, 0); 30];
    let (mut symbol, mut base) = (0, 1);
    while symbol < 30 {
        let extra = if symbol < 4 { 0 } else { symbol as u8 / 2 - 1 };
        table[symbol] = (base, extra);
        base += 1 << extra;
        symbol += 1;
    }
    table
};

/// The order in which a block tells the lengths of its code length codes.
pub(crate) const ORDER: [usize; 19] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
