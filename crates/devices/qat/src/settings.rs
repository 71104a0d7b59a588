//! Where the card's library is, and how it is used.

use core::ffi::CStr;
use std::{path::PathBuf, time::Duration};

use crate::{Refusal, process::variable};

/// The variable that names the card's library; without it there is no card.
pub const LIBRARY_VARIABLE: &str = "LOOKASIDE_CARD_LIBRARY";
const LIBRARY: &CStr = c"LOOKASIDE_CARD_LIBRARY";
const SECTION: &CStr = c"LOOKASIDE_CARD_SECTION";
const TIMEOUT: &CStr = c"LOOKASIDE_CARD_TIMEOUT_MS";
const VERIFY: &CStr = c"LOOKASIDE_CARD_VERIFY";

/// Who verifies what the card has compressed, before anybody has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// We do: it is decompressed by the CPU and compared. The card also does, if it can.
    #[default]
    Software,
    /// The card alone (compress-and-verify). A card that does not have it is refused.
    Card,
}

/// How a card is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its library: a `libqat.so.4`.
    pub library: PathBuf,
    /// The section of the driver's configuration whose instances are used.
    pub section: String,
    /// After how long without an answer requests go to the next device.
    pub timeout: Duration,
    /// Who verifies.
    pub verify: Verify,
}

impl Settings {
    /// The defaults, with this library: section `SSL`, one second, verified by software.
    pub fn new(library: impl Into<PathBuf>) -> Settings {
        Settings {
            library: library.into(),
            section: "SSL".to_owned(),
            timeout: Duration::from_secs(1),
            verify: Verify::Software,
        }
    }

    /// These with what the environment says of everything but the library.
    ///
    /// # Errors
    /// For a value that is none, in one line.
    pub fn with_environment(mut self) -> Result<Settings, Refusal> {
        if let Some(section) = variable(SECTION) {
            self.section = section;
        }
        if let Some(text) = variable(TIMEOUT) {
            let ms = text.parse().ok().filter(|ms| (1..=600_000).contains(ms));
            let ms = ms.ok_or_else(|| {
                let why = format!("LOOKASIDE_CARD_TIMEOUT_MS is {text}, not 1 to 600000");
                Refusal::new(&self.library, why)
            })?;
            self.timeout = Duration::from_millis(ms);
        }
        if let Some(text) = variable(VERIFY) {
            self.verify = match &*text {
                "software" => Verify::Software,
                "card" => Verify::Card,
                _ => {
                    let why = format!("LOOKASIDE_CARD_VERIFY is {text}, not software or card");
                    return Err(Refusal::new(&self.library, why));
                }
            };
        }
        Ok(self)
    }

    /// What the environment says; `None` where it names no library, and in a program with more rights than its user, which
    /// ignores it.
    ///
    /// # Errors
    /// For a value that is none, in one line.
    pub fn of_environment() -> Result<Option<Settings>, Refusal> {
        variable(LIBRARY).map(|path| Settings::new(path).with_environment()).transpose()
    }
}
