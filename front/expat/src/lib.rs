//! An expat library, `libexpat.so.1`: the functions of expat 2.5 and what 2.6 and 2.7 added.
//!
//! Every function is documented in `expat.h`, which is the specification; what is said here is how it is done.
//!
//! Handlers see every token where it stands, and may stop the parser behind each; so this library goes from token to
//! token itself ([`token`], [`content`]), on the vectors' index of `lookaside_xml` ([`lookaside_xml::kernel`]), and calls
//! them at once. The grammar of declarations is a machine over tokens ([`role`], [`declarations`]) as expat's is, because the
//! default handler gets every token of a declaration that no other handler takes; its states and the order of what is done
//! for each follow expat's (MIT licence; THIRD-PARTY-NOTICES has its notice). Names are interned once per parser
//! with their C strings ([`dtd`]); text is passed by reference; lists of attributes are used again.
//!
//! Everything runs on the caller's thread within the call. A panic becomes `XML_ERROR_UNEXPECTED_STATE` and crosses no
//! boundary.
#![allow(clippy::missing_safety_doc, reason = "expat.h says what callers must guarantee")]
#![allow(non_snake_case, reason = "the names are expat's")]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "nobody links this crate: its pages are for who works on it"
)]

pub mod abi;
pub mod api;
mod content;
mod declarations;
mod dtd;
mod elements;
mod encoding;
mod letters;
pub mod parser;
mod prolog;
mod role;
pub mod run;
pub mod stats;
mod token;
mod value;
