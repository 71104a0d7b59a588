//! `-l`: what is in a file.

use std::{
    io::{self, Write},
    os::unix::fs::FileExt,
};

use super::{
    Abort, Run,
    member::{Header, TRAILER},
    work::Input,
};

/// Of all files so far.
#[derive(Default)]
pub(crate) struct Totals {
    files: u64,
    packed: u64,
    data: u64,
    /// The header and trailer of the last one.
    frame: u64,
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// How much shorter `saved` of `whole` is, in percent with one decimal.
pub(crate) fn ratio(saved: i128, whole: u64) -> String {
    let percent = if whole == 0 { 0.0 } else { 100.0 * saved as f64 / whole as f64 };
    format!("{percent:5.1}%")
}

/// The same of compressed bytes, `frame` of them header and trailer.
pub(crate) fn ratio_of(packed: u64, data: u64, frame: u64) -> String {
    ratio(i128::from(data) - (i128::from(packed) - i128::from(frame)), data)
}

impl Run {
    /// One line. `header`: the first one.
    pub(crate) fn list(
        &mut self,
        name: &str,
        shown: &str,
        input: &mut Input,
        header: &Header,
        time: i64,
    ) -> Result<(), Abort> {
        let (packed, trailer) = match input.len {
            Some(len) => {
                let mut trailer = [0; 8];
                let at = len.saturating_sub(TRAILER);
                if let Err(e) = input.file().read_exact_at(&mut trailer, at) {
                    self.broken(name, &super::words(&e));
                    return Ok(());
                }
                (len, trailer)
            }
            None => match self.decompress(header, input, &mut io::sink()) {
                Ok(summary) => (summary.bytes_in, input.tail),
                Err(e) => return self.failed(name, "stdout", &e),
            },
        };
        let [c0, c1, c2, c3, l0, l1, l2, l3] = trailer;
        let crc = u32::from_le_bytes([c0, c1, c2, c3]);
        let data = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
        let frame = header.len as u64 + TRAILER;
        let mut text = String::new();
        if self.totals.files == 0 && !self.o.quiet {
            if self.o.verbose {
                text += "method  crc     date  time  ";
            }
            text += "         compressed        uncompressed  ratio uncompressed_name\n";
        }
        if self.o.verbose {
            let [month, day, hour, minute] = parcomp::local_time(time).unwrap_or([0, 1, 0, 0]);
            let month = MONTHS.get(month as usize).copied().unwrap_or("???");
            text += &format!("defla {crc:08x} {month}{day:3} {hour:02}:{minute:02} ");
        }
        let ratio = ratio_of(packed, data, frame);
        text += &format!("{packed:19} {data:19} {ratio:>6} {shown}\n");
        let t = &mut self.totals;
        t.files += 1;
        t.packed = t.packed.saturating_add(packed);
        t.data = t.data.saturating_add(data);
        t.frame = frame;
        self.print(&text)
    }

    pub(crate) fn list_totals(&mut self) -> Result<(), Abort> {
        let t = &self.totals;
        if t.files < 2 {
            return Ok(());
        }
        let before = if self.o.verbose { " ".repeat(28) } else { String::new() };
        let name = if self.o.quiet { "" } else { " (totals)" };
        let ratio = ratio_of(t.packed, t.data, t.frame);
        let text = format!("{before}{:19} {:19} {ratio:>6}{name}\n", t.packed, t.data);
        self.print(&text)
    }

    fn print(&mut self, text: &str) -> Result<(), Abort> {
        let mut out = io::stdout().lock();
        if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.broken("stdout", &super::words(&e));
            return Err(Abort);
        }
        Ok(())
    }
}
