//! Where a token ends that arrives in pieces: no byte is looked at twice.

use crate::chars::ascii_name;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Form {
    #[default]
    First,
    Open,
    Bang,
    Cdata,
    Comment,
    Pi,
    Tag,
    EndTag,
    Declaration,
    Reference,
    Brackets,
    Return,
    Sequence(usize),
}

/// The state behind the bytes so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TokenEnd {
    form: Form,
    len: usize,
    quote: u8,
    last: [u8; 2],
}

impl TokenEnd {
    /// Whether the token is complete with `byte`, or cannot become one.
    pub(crate) fn step(&mut self, byte: u8) -> bool {
        let at = self.len;
        let last = self.last;
        self.len += 1;
        self.last = [last[1], byte];
        match self.form {
            Form::First => {
                self.form = match byte {
                    b'<' => Form::Open,
                    b'&' | b'%' => Form::Reference,
                    b']' => Form::Brackets,
                    b'\r' => Form::Return,
                    0xc2..=0xdf => Form::Sequence(2),
                    0xe0..=0xef => Form::Sequence(3),
                    0xf0..=0xf4 => Form::Sequence(4),
                    _ => return true,
                };
                false
            }
            Form::Open => {
                self.form = match byte {
                    b'!' => Form::Bang,
                    b'?' => Form::Pi,
                    b'/' => Form::EndTag,
                    b'<' | b'>' => return true,
                    _ => Form::Tag,
                };
                false
            }
            Form::Bang => {
                self.form = match byte {
                    b'-' => Form::Comment,
                    b'[' => Form::Cdata,
                    b'>' => return true,
                    _ => Form::Declaration,
                };
                false
            }
            Form::Cdata => at >= 8,
            Form::Comment => at == 3 && byte != b'-' || at >= 6 && last == *b"--",
            Form::Pi => byte == b'>' && last[1] == b'?',
            Form::EndTag => matches!(byte, b'<' | b'>'),
            Form::Tag | Form::Declaration => {
                if self.quote != 0 {
                    if byte == self.quote {
                        self.quote = 0;
                    }
                    return byte == b'<' && self.form == Form::Tag;
                }
                match byte {
                    b'"' | b'\'' => self.quote = byte,
                    b'<' | b'>' => return true,
                    b'[' => return self.form == Form::Declaration,
                    _ => {}
                }
                false
            }
            Form::Reference => byte < 128 && !ascii_name(byte) && !(at == 1 && byte == b'#'),
            Form::Brackets => byte != b']' || at >= 2,
            Form::Return => true,
            Form::Sequence(len) => at + 1 >= len || byte & 0xc0 != 0x80,
        }
    }
}
