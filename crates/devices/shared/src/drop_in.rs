//! The device of the environment.

use core::ffi::CStr;
use std::{
    io::Write as _,
    thread,
    time::{Duration, Instant},
};

use lookaside_core::secure_variable;
use once_cell::race::OnceBox;

use crate::{Policy, Refusal, Settings, SharedDevice};

const DEVICE: &CStr = c"LOOKASIDE_DEVICE";
const POLICY: &CStr = c"LOOKASIDE_DEVICE_POLICY";

/// With [`Policy::Wait`], how long the first server is waited for.
const FIRST: Duration = Duration::from_secs(60);

/// A variable that has a value; none in a program with more rights than its user.
fn variable(name: &CStr) -> Option<String> {
    let value = secure_variable(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

impl Settings {
    /// What the environment says: the socket in `LOOKASIDE_DEVICE`; `wait`, `fallback` or `fail` in
    /// `LOOKASIDE_DEVICE_POLICY`. `None` without a socket, and in a program with more rights than its user.
    ///
    /// # Errors
    /// For a policy that is none.
    pub fn of_environment() -> Result<Option<Settings>, Refusal> {
        let Some(path) = variable(DEVICE) else { return Ok(None) };
        let mut settings = Settings::new(path);
        if let Some(policy) = variable(POLICY) {
            settings.policy = match &*policy {
                "wait" => Policy::Wait,
                "fallback" => Policy::Fallback,
                "fail" => Policy::Fail,
                _ => {
                    let why =
                        format!("LOOKASIDE_DEVICE_POLICY is {policy}, not wait, fallback or fail");
                    return Err(Refusal::new(&settings.path, why));
                }
            };
        }
        Ok(Some(settings))
    }
}

impl SharedDevice {
    /// The device that the environment names; `None` where it names none. With [`Policy::Wait`] the server is
    /// waited for, up to a minute.
    ///
    /// # Errors
    /// In one line, why the device that is named is not there.
    pub fn of_environment() -> Result<Option<SharedDevice>, Refusal> {
        let Some(settings) = Settings::of_environment()? else { return Ok(None) };
        let began = Instant::now();
        loop {
            match SharedDevice::new(settings.clone()) {
                Err(_) if settings.policy == Policy::Wait && began.elapsed() < FIRST => {
                    thread::sleep(Duration::from_millis(20));
                }
                device => return device.map(Some),
            }
        }
    }

    /// The same for a library that programs load without knowing of it, for what [pays](SharedDevice::worthwhile): why a device
    /// that is named is not there is said in one line on the standard error output, and the library goes on
    /// without. Decided once for the process and its children.
    pub fn drop_in() -> Option<SharedDevice> {
        static DECIDED: OnceBox<Option<SharedDevice>> = OnceBox::new();
        let decide = || {
            let named = SharedDevice::of_environment().unwrap_or_else(|refusal| {
                // A daemon may have closed it.
                let _ = writeln!(std::io::stderr(), "lookaside: {refusal}");
                None
            });
            named.map(|device| device.worthwhile())
        };
        DECIDED.get_or_init(|| Box::new(decide())).clone()
    }
}
