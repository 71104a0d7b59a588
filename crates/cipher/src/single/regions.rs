//! Parts of a packet's text. The packet has been checked: they lie within it.

use std::ops::Range;

use crate::library::aws_lc;
use crate::{Direction, OpError, Span, Text};

fn range(span: Span) -> Range<usize> {
    let offset = span.offset as usize;
    offset..offset + span.len as usize
}

/// A part of source and destination.
pub(crate) fn region<'t>(text: &'t mut Text<'_>, span: Span) -> Text<'t> {
    super::cipher::slice(text, span.offset as usize, span.len as usize)
}

/// A part of the source.
pub(crate) fn read<'t>(text: &'t Text<'_>, span: Span) -> &'t [u8] {
    match text {
        Text::InPlace(bytes) => &bytes[range(span)],
        Text::Apart { src, .. } => &src[range(span)],
    }
}

/// A part of the destination.
pub(crate) fn written<'t>(text: &'t Text<'_>, span: Span) -> &'t [u8] {
    match text {
        Text::InPlace(bytes) => &bytes[range(span)],
        Text::Apart { dst, .. } => &dst[range(span)],
    }
}

/// A part of the destination, to write to.
pub(crate) fn write<'t>(text: &'t mut Text<'_>, span: Span) -> &'t mut [u8] {
    match text {
        Text::InPlace(bytes) => &mut bytes[range(span)],
        Text::Apart { dst, .. } => &mut dst[range(span)],
    }
}

/// Overwrites a part of the destination.
pub(crate) fn wipe(text: &mut Text<'_>, span: Span) {
    write(text, span).fill(0);
}

/// A part to read and another to work on. `None` where they overlap in one slice.
#[inline(always)]
pub(crate) fn apart<'t>(
    text: &'t mut Text<'_>,
    fixed: Span,
    changed: Span,
) -> Option<(&'t [u8], Text<'t>)> {
    match text {
        Text::Apart { src, dst } => {
            let text = Text::Apart { src: &src[range(changed)], dst: &mut dst[range(changed)] };
            Some((&src[range(fixed)], text))
        }
        Text::InPlace(bytes) => {
            let (fixed, changed) = (range(fixed), range(changed));
            if fixed.end <= changed.start {
                let (left, right) = bytes.split_at_mut(changed.start);
                Some((&left[fixed], Text::InPlace(&mut right[..changed.len()])))
            } else if changed.end <= fixed.start {
                let (left, right) = bytes.split_at_mut(fixed.start);
                Some((&right[..fixed.len()], Text::InPlace(&mut left[changed])))
            } else {
                None
            }
        }
    }
}

/// Copies what of `span` lies outside of `but` to a destination that lies apart.
pub(crate) fn copy_outside(text: &mut Text<'_>, span: Span, but: Span) {
    let Text::Apart { src, dst } = text else { return };
    let (span, but) = (range(span), range(but));
    let before = span.start..span.end.min(but.start);
    let after = span.start.max(but.end)..span.end;
    // A part that is not `but`'s is before it, after it, or both when `but` is empty.
    let pieces = if but.is_empty() { [span, 0..0] } else { [before, after] };
    for piece in pieces {
        if !piece.is_empty() {
            dst[piece.clone()].copy_from_slice(&src[piece]);
        }
    }
}

/// Sealing: writes the tag into the destination. Opening: compares it with the source's.
pub(crate) fn tag_done(
    direction: Direction,
    text: &mut Text<'_>,
    tag: Span,
    computed: &[u8],
) -> Result<(), OpError> {
    match direction {
        Direction::Seal => write(text, tag).copy_from_slice(computed),
        Direction::Open if aws_lc::equal(read(text, tag), computed) => {}
        Direction::Open => return Err(OpError::AuthFailed),
    }
    Ok(())
}
