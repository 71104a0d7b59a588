//! Digests: [`list`] has the algorithms, a [`text::Text`] is a message in progress, [`aside`] decides
//! what of it runs side by side with other jobs' messages, and [`plain`] computes the rest.

pub mod aside;
pub mod list;
pub mod plain;
pub mod text;
