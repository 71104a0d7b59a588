//! What the functions return. The numbers are frozen.

use core::ffi::{CStr, c_int};

use parcomp::Error;

macro_rules! statuses {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        $(pub(crate) const $name: c_int = $number;)*

        /// What a number means.
        pub(crate) fn text(status: c_int) -> &'static CStr {
            match status {
                $($name => $text,)*
                _ => c"unknown status",
            }
        }

        #[cfg(test)]
        pub(crate) const ALL: &[(&str, c_int)] = &[$((stringify!($name), $number)),*];
    };
}

statuses! {
    OK = 0, c"success";
    ARGUMENT = -1, c"a null pointer, a negative size, or overlapping buffers";
    PROVIDER = -2, c"unknown provider";
    EXISTS = -3, c"a provider of this name is registered already";
    PARAM = -4, c"a parameter is outside its limits";
    OVERFLOW = -5, c"the destination is too small";
    BAD_DATA = -6, c"the compressed data is damaged";
    UNSUPPORTED = -7, c"not supported by this provider";
    DEVICE = -8, c"the provider failed";
    SYSTEM = -9, c"the operating system refused";
    INTERNAL = -10, c"internal error";
}

/// The number of an error.
pub(crate) fn of(e: &Error) -> c_int {
    match e {
        Error::UnknownProvider(_) | Error::Model(_) => PROVIDER,
        Error::ProviderExists(_) => EXISTS,
        Error::Param { .. } => PARAM,
        Error::DstTooSmall { .. } | Error::Limit(_) => OVERFLOW,
        Error::BadData { .. } | Error::NotThisFormat(_) | Error::Verify => BAD_DATA,
        Error::Unsupported { .. } => UNSUPPORTED,
        Error::Provider { .. } | Error::Setup(_) => DEVICE,
        Error::Io { .. } | Error::Exists(_) => SYSTEM,
        _ => INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_the_same() {
        let header = include_str!("../include/cf.h");
        for &(name, number) in ALL {
            let name = if name == "OK" { "CF_OK".into() } else { format!("CF_E_{name}") };
            let line = format!("    {name} = {number}");
            assert!(header.lines().any(|l| l.starts_with(&line)), "{line}");
            assert_ne!(text(number), c"unknown status");
        }
        let listed = header.lines().filter(|l| l.starts_with("    CF_") && l.contains(" = -"));
        assert_eq!(listed.count(), ALL.len() - 1);
        assert_eq!(text(7), c"unknown status");
    }
}
