//! Digests: [`list`] has the algorithms, a [`text::Text`] is a message in progress, and [`aside`]
//! decides what of it runs side by side with other jobs' messages.

pub mod aside;
pub mod list;
pub mod text;
