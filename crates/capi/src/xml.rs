//! XML: documents as streams, names and errors by asking them.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};
use std::ffi::CString;

use lookaside::{
    DocumentStream, Xml,
    xml::{Error, External, Limits, Name, Resolver, Resource},
};

use crate::{
    out,
    pointer::{In, Lent, Out, Owned},
    runtime::la_runtime,
    session::{la_session, la_stream, make},
    settings::Settings,
    status::{LA_OK, Refusal, enter},
};

/// See the header.
pub type la_resolve = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        *const c_char,
        *const c_char,
        *mut la_resource,
    ),
>;

/// See the header.
#[derive(Debug, Default)]
pub struct la_resource(Option<Resource>);

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_xml {
    pub size: usize,
    pub encoding: *const c_char,
    pub expansion: u64,
    pub amplification: u64,
    pub amplification_from: u64,
    pub memory: u64,
    pub depth: u32,
    pub attributes: u32,
    pub name: u32,
    pub namespaces: i32,
    pub resolve: la_resolve,
    pub resolve_context: *mut c_void,
}

// SAFETY: repr(C), the size first, integers and pointers; a function that is not null is the caller's promise.
unsafe impl Settings for la_xml {
    const DEFAULT: Self = la_xml {
        size: size_of::<Self>(),
        encoding: ptr::null(),
        expansion: 1 << 30,
        amplification: 100,
        amplification_from: 8 << 20,
        memory: 64 << 20,
        depth: 4096,
        attributes: 10_000,
        name: 50_000,
        namespaces: 1,
        resolve: None,
        resolve_context: ptr::null_mut(),
    };
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_event {
    pub kind: u8,
    pub flags: u8,
    pub count: u16,
    pub name: u32,
    pub offset: u32,
    pub len: u32,
}

const _: () = assert!(size_of::<la_event>() == lookaside::xml::Record::BYTES);

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_name {
    pub qname: u32,
    pub uri: u32,
    pub prefix: u32,
    pub local: u32,
    pub expanded: u32,
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_bad_document {
    pub offset: u64,
    pub line: u64,
    pub column: u64,
    pub rule: [c_char; 104],
}

impl la_xml {
    /// # Safety
    /// The encoding is null or a string.
    unsafe fn spec(&self) -> Result<Xml, Refusal> {
        let namespaces = match self.namespaces {
            0 => false,
            1 => true,
            _ => return Err(Refusal::Invalid("namespaces")),
        };
        if self.attributes > u32::from(u16::MAX) {
            return Err(Refusal::Limit("more than 65535 attributes"));
        }
        let encoding = match self.encoding.is_null() {
            true => None,
            // SAFETY: the caller's promise.
            false => Some(unsafe { CStr::from_ptr(self.encoding) }.to_str()),
        };
        let encoding = encoding.transpose().map_err(|_| Refusal::Invalid("encoding"))?;
        let limits = Limits {
            depth: self.depth,
            attributes: self.attributes,
            name: self.name,
            expansion: self.expansion,
            amplification: self.amplification,
            amplification_from: self.amplification_from,
            memory: usize::try_from(self.memory).unwrap_or(usize::MAX),
        };
        Ok(Xml {
            namespaces,
            encoding: encoding.map(Into::into),
            limits,
            resolver: self.resolver(),
        })
    }
}

/// What a C program gave to have it back.
struct FirstArgument(*mut c_void);

// SAFETY: the header asks for one that can be used on any thread.
unsafe impl Send for FirstArgument {}
// SAFETY: as above.
unsafe impl Sync for FirstArgument {}

impl la_xml {
    fn resolver(&self) -> Option<Resolver> {
        let resolve = self.resolve?;
        let first = FirstArgument(self.resolve_context);
        Some(Resolver::new(move |wanted: &External<'_>| {
            let first = &first;
            // No character of XML is a NUL; a base with one came from no call.
            let text = |text: &str| CString::new(text).ok();
            let optional = |one: Option<&str>| one.map(text).map_or(Some(None), |it| it.map(Some));
            let (public, base) = (optional(wanted.public)?, optional(wanted.base)?);
            let system = text(wanted.system)?;
            let pointer =
                |one: &Option<CString>| one.as_ref().map_or(ptr::null(), |it| it.as_ptr());
            let mut found = la_resource::default();
            // SAFETY: the header asks for a function that can be called so; the strings live.
            unsafe {
                let (public, base) = (pointer(&public), pointer(&base));
                resolve(first.0, public, system.as_ptr(), base, &raw mut found);
            }
            found.0
        }))
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_xml_give(
    found: *mut la_resource,
    bytes: In<u8>,
    len: usize,
    base: *const c_char,
) -> c_int {
    enter(|| {
        if found.is_null() || base.is_null() {
            return Err(Refusal::Invalid("a null pointer"));
        }
        // SAFETY: the header asks for the pointer that la_resolve was given, for bytes, and for a string.
        let (found, bytes, base) =
            unsafe { (&mut *found, bytes.many(len)?, CStr::from_ptr(base).to_str()) };
        let base = base.map_err(|_| Refusal::Invalid("base"))?;
        found.0 = Some(Resource { bytes: bytes.into(), base: base.into() });
        Ok(LA_OK)
    })
}

impl From<Name> for la_name {
    fn from(name: Name) -> la_name {
        let Name { qname, uri, prefix, local, expanded } = name;
        la_name { qname, uri, prefix, local, expanded }
    }
}

impl From<Error> for la_bad_document {
    fn from(error: Error) -> la_bad_document {
        let Error { rule, offset, line, column } = error;
        la_bad_document { offset, line, column, rule: out::text(rule.text()) }
    }
}

/// The document, or what a pointer to something else is refused with.
fn document(stream: &la_stream) -> Result<&DocumentStream, Refusal> {
    match stream {
        la_stream::Document(stream) => Ok(stream),
        _ => Err(Refusal::Invalid("a stream that is no document")),
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_xml_session(
    runtime: Lent<la_runtime>,
    xml: In<la_xml>,
    session: Out<Owned<la_session>>,
) -> c_int {
    let body = || {
        // SAFETY: the header asks for an object that lives, for null or a structure of the size that it begins with, and for
        // a string in it.
        let (runtime, spec) = unsafe { (runtime.lent()?, xml.settings()?.spec()?) };
        Ok(la_session::Xml(runtime.0.xml(spec)?))
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&session, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_xml_stream(
    session: Lent<la_session>,
    stream: Out<Owned<la_stream>>,
) -> c_int {
    let body = || {
        // SAFETY: the header asks for an object that lives.
        let la_session::Xml(documents) = unsafe { session.lent() }? else {
            return Err(Refusal::Invalid("a session that reads no documents"));
        };
        Ok(la_stream::Document(documents.stream().map_err(Refusal::Stream)?))
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&stream, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_xml_restart(stream: Lent<la_stream>) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives.
        let kept = document(unsafe { stream.lent() }?)?.restart();
        Ok(kept.map_err(Refusal::Stream)?.ok_or(Refusal::Busy)?.into())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_xml_name(
    stream: Lent<la_stream>,
    number: u32,
    name: Out<la_name>,
) -> c_int {
    enter(|| {
        name.check(1)?;
        // SAFETY: the header asks for an object that lives.
        let document = document(unsafe { stream.lent() }?)?.document();
        let found = document.ask(|document| document.name(number)).map_err(Refusal::Stream)?;
        let found = found.ok_or(Refusal::Busy)?.ok_or(Refusal::Invalid("a name's number"))?;
        // SAFETY: checked; one structure.
        unsafe { name.write(0, found.into()) };
        Ok(LA_OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_xml_string(
    stream: Lent<la_stream>,
    number: u32,
    dst: *mut c_void,
    dst_len: usize,
    len: Out<usize>,
) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives.
        let document = document(unsafe { stream.lent() }?)?.document();
        let written = document.ask(|document| {
            // SAFETY: the header asks for such places.
            unsafe { out::bytes(document.string(number), dst, dst_len, &len) }
        });
        written.map_err(Refusal::Stream)?.ok_or(Refusal::Busy)?
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_xml_error(
    stream: Lent<la_stream>,
    error: Out<la_bad_document>,
) -> c_int {
    enter(|| {
        error.check(1)?;
        // SAFETY: the header asks for an object that lives.
        let document = document(unsafe { stream.lent() }?)?.document();
        let found = document.ask(|document| document.error()).map_err(Refusal::Stream)?;
        let Some(found) = found.ok_or(Refusal::Busy)? else { return Ok(0) };
        // SAFETY: checked; one structure.
        unsafe { error.write(0, found.into()) };
        Ok(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookaside::xml::{self, Kind, Rule};

    #[test]
    fn the_defaults_are_those_of_the_service() {
        // SAFETY: no encoding.
        assert_eq!(unsafe { la_xml::DEFAULT.spec() }.unwrap(), Xml::default());
    }

    #[test]
    fn every_rule_fits() {
        for &rule in Rule::ALL {
            let bad = la_bad_document::from(Error { rule, offset: 1, line: 2, column: 3 });
            assert_eq!(bad.rule.iter().take_while(|&&c| c != 0).count(), rule.text().len());
        }
    }

    /// `LA_XML_...`: the numbers of the header are those of the service.
    #[test]
    fn kinds_and_flags_have_the_numbers_of_the_header() {
        assert_eq!((Kind::XmlDecl as u8, Kind::StartElement as u8, Kind::Text as u8), (0, 7, 11));
        assert_eq!((Kind::SkippedEntity as u8, Kind::ALL.len()), (18, 19));
        assert_eq!([xml::IN_BYTES, xml::DEFAULTED, xml::CDATA, xml::EMPTY], [1, 2, 4, 8]);
    }
}
