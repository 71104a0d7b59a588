//! The card of the environment for libraries that programs load without knowing of it.

use std::{
    io::Write as _,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use once_cell::race::OnceBox;

use crate::{QatDevice, Refusal, Settings, process};

/// Says why there is no card: one line on the standard error output, once in a process.
pub(crate) fn say(refusal: &Refusal) {
    static SAID: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    if SAID.swap(process, Relaxed) != process {
        // A daemon may have closed it.
        let _ = writeln!(std::io::stderr(), "lookaside: {refusal}");
    }
}

impl QatDevice {
    /// The card that the environment names, for a library in the place of another one: its runtime has it before the CPU
    /// device. `None` where the environment names none, in a program with more rights than its user, and outside of the
    /// program's own linker namespace: what lies in another one may be there for the card's library. Why a card that is
    /// named is not there is said in one line on the standard error output.
    ///
    /// Decided once: all runtimes of the library have the same devices, also those of a child of a fork, which starts the
    /// card anew.
    pub fn drop_in() -> Option<QatDevice> {
        static DECIDED: OnceBox<Option<QatDevice>> = OnceBox::new();
        let decide = || match Settings::of_environment() {
            Ok(None) => None,
            _ if !process::is_the_programs() => None,
            named => named.and_then(|named| named.map(QatDevice::new).transpose()).unwrap_or_else(
                |refusal| {
                    say(&refusal);
                    None
                },
            ),
        };
        DECIDED.get_or_init(|| Box::new(decide())).clone()
    }
}
