//! Expressions by `regex-syntax`, for tests and benches.
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::node::{Assertion, ByteSet, Node};

/// The expression `pattern` over bytes.
pub(crate) fn parse(pattern: &str) -> Node {
    let mut parser = regex_syntax::ParserBuilder::new().utf8(false).unicode(false).build();
    convert(&parser.parse(pattern).expect("a pattern"))
}

fn convert(hir: &Hir) -> Node {
    match hir.kind() {
        HirKind::Empty => Node::Empty,
        HirKind::Literal(bytes) => {
            Node::Concat(bytes.0.iter().map(|&byte| Node::Class(ByteSet::one(byte))).collect())
        }
        HirKind::Class(Class::Bytes(class)) => Node::Class(
            class
                .iter()
                .fold(ByteSet::EMPTY, |set, it| set.union(ByteSet::range(it.start(), it.end()))),
        ),
        HirKind::Class(Class::Unicode(class)) => Node::Class(
            class
                .iter()
                .flat_map(|it| it.start()..=it.end())
                .map(|it| u8::try_from(it).expect("ASCII"))
                .collect(),
        ),
        HirKind::Look(look) => Node::Assert(match look {
            Look::Start => Assertion::TextStart,
            Look::End => Assertion::TextEnd,
            Look::StartLF => Assertion::LineStart,
            Look::EndLF => Assertion::LineEnd,
            Look::WordAscii => Assertion::WordBoundary,
            Look::WordAsciiNegate => Assertion::NotWordBoundary,
            other => panic!("{other:?}"),
        }),
        HirKind::Repetition(it) => {
            Node::Repeat { node: Box::new(convert(&it.sub)), min: it.min, max: it.max }
        }
        HirKind::Capture(it) => convert(&it.sub),
        HirKind::Concat(all) => Node::Concat(all.iter().map(convert).collect()),
        HirKind::Alternation(all) => Node::Alternate(all.iter().map(convert).collect()),
    }
}
