//! What the symbols of DEFLATE stand for (RFC 1951 sections 3.2.5 to 3.2.7).

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

/// The code lengths of the fixed codes (RFC 1951 section 3.2.6), of literals and lengths, and of distances.
pub(crate) const FIXED: ([u8; 288], [u8; 32]) = {
    let mut litlens = [8; 288];
    let mut symbol = 144;
    while symbol < 280 {
        litlens[symbol] = if symbol < 256 { 9 } else { 7 };
        symbol += 1;
    }
    (litlens, [5; 32])
};

/// How a block tells that `run` symbols in a row have codes of one length: `put` gets each length or repetition, and the value of its
/// extra bits.
#[inline(always)]
pub(crate) fn tell_run(length: u8, mut run: usize, mut put: impl FnMut(u8, usize)) {
    if length == 0 {
        while run >= 11 {
            let part = run.min(138);
            put(18, part - 11);
            run -= part;
        }
        if run >= 3 {
            put(17, run - 3);
            run = 0;
        }
    } else {
        put(length, 0);
        run -= 1;
        while run >= 3 {
            let part = run.min(6);
            put(16, part - 3);
            run -= part;
        }
    }
    (0..run).for_each(|_| put(length, 0));
}

/// The extra bits of a repetition, 0 of a length.
#[inline(always)]
pub(crate) fn repeat_bits(symbol: u8) -> u32 {
    match symbol {
        16 => 2,
        17 => 3,
        18 => 7,
        _ => 0,
    }
}
