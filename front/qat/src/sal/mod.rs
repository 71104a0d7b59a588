//! What is not of a service: `icp_sal*.h`.

mod poll;
mod user;

pub use poll::*;
pub use user::*;
