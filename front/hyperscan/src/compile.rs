//! Compilation: the checks of a call's arguments, in the original's order and wording, then [`Set::compile`].

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr::null_mut;

use lookaside_scan::{Expression, Extended, Flags, Mode, Patterns, Set};
use lookaside_simd::Cpu;

use crate::abi::*;
use crate::database::{self, Database, PLATFORMS, Tables};
use crate::error;
use crate::guard;
use crate::platform;
use crate::stats::{self, Kind};
use crate::wording;

/// A message, and the place of the expression that it is about.
pub(crate) type Refusal = (String, c_int);

/// Compiles an expression.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_compile(
    expression: *const c_char,
    flags: c_uint,
    mode: c_uint,
    platform: *const PlatformInfo,
    db: *mut *mut Database,
    error: *mut *mut CompileError,
) -> c_int {
    let all = One { expression: &raw const expression, flags: &raw const flags };
    // SAFETY: the caller's pointers.
    unsafe { one(all, None, mode, platform, db, error) }
}

/// Compiles a string in which no character is special, and which may have null bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_compile_lit(
    expression: *const c_char,
    flags: c_uint,
    len: usize,
    mode: c_uint,
    platform: *const PlatformInfo,
    db: *mut *mut Database,
    error: *mut *mut CompileError,
) -> c_int {
    let all = One { expression: &raw const expression, flags: &raw const flags };
    // SAFETY: the caller's pointers.
    unsafe { one(all, Some(&raw const len), mode, platform, db, error) }
}

/// The arguments for one expression, as those for several.
struct One {
    expression: *const *const c_char,
    flags: *const c_uint,
}

unsafe fn one(
    one: One,
    lens: Option<*const usize>,
    mode: c_uint,
    platform: *const PlatformInfo,
    db: *mut *mut Database,
    error: *mut *mut CompileError,
) -> c_int {
    // SAFETY: the caller's pointers.
    unsafe {
        if (*one.expression).is_null() {
            return refuse(db, error, "Invalid parameter: expression is NULL", -1);
        }
        let several = Several {
            expressions: one.expression,
            flags: one.flags,
            ids: std::ptr::null(),
            extended: std::ptr::null(),
            lens,
            elements: 1,
        };
        guard(|| compile(&several, mode, platform, db, error))
    }
}

/// Compiles expressions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_compile_multi(
    expressions: *const *const c_char,
    flags: *const c_uint,
    ids: *const c_uint,
    elements: c_uint,
    mode: c_uint,
    platform: *const PlatformInfo,
    db: *mut *mut Database,
    error: *mut *mut CompileError,
) -> c_int {
    let extended = std::ptr::null();
    let several = Several { expressions, flags, ids, extended, lens: None, elements };
    // SAFETY: the caller's pointers.
    guard(|| unsafe { compile(&several, mode, platform, db, error) })
}

/// Compiles expressions, each with conditions on its matches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_compile_ext_multi(
    expressions: *const *const c_char,
    flags: *const c_uint,
    ids: *const c_uint,
    extended: *const *const ExpressionExtended,
    elements: c_uint,
    mode: c_uint,
    platform: *const PlatformInfo,
    db: *mut *mut Database,
    error: *mut *mut CompileError,
) -> c_int {
    let several = Several { expressions, flags, ids, extended, lens: None, elements };
    // SAFETY: the caller's pointers.
    guard(|| unsafe { compile(&several, mode, platform, db, error) })
}

/// Compiles strings in which no character is special, and which may have null bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_compile_lit_multi(
    expressions: *const *const c_char,
    flags: *const c_uint,
    ids: *const c_uint,
    lens: *const usize,
    elements: c_uint,
    mode: c_uint,
    platform: *const PlatformInfo,
    db: *mut *mut Database,
    error: *mut *mut CompileError,
) -> c_int {
    let extended = std::ptr::null();
    let several = Several { expressions, flags, ids, extended, lens: Some(lens), elements };
    // SAFETY: the caller's pointers.
    guard(|| unsafe { compile(&several, mode, platform, db, error) })
}

/// The arrays of a call.
struct Several {
    expressions: *const *const c_char,
    /// Null: no flags.
    flags: *const c_uint,
    /// Null: 0 for all.
    ids: *const c_uint,
    /// Null: none.
    extended: *const *const ExpressionExtended,
    /// Of literals; may be null.
    lens: Option<*const usize>,
    elements: c_uint,
}

/// Says that a call is refused.
unsafe fn refuse(
    db: *mut *mut Database,
    error: *mut *mut CompileError,
    message: &str,
    expression: c_int,
) -> c_int {
    // SAFETY: the caller's pointers.
    unsafe {
        if !db.is_null() {
            *db = null_mut();
        }
        if !error.is_null() {
            *error = error::new(message, expression);
        }
    }
    HS_COMPILER_ERROR
}

unsafe fn compile(
    several: &Several,
    mode: c_uint,
    platform: *const PlatformInfo,
    db: *mut *mut Database,
    error: *mut *mut CompileError,
) -> c_int {
    // SAFETY: the caller's pointers.
    unsafe {
        if error.is_null() || db.is_null() {
            return refuse(db, error, "Invalid parameter: db is NULL", -1);
        }
        let compiled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(several, mode, platform.as_ref())?;
            tables(several, mode)
        }));
        let tables = match compiled {
            Ok(Ok(tables)) => tables,
            Ok(Err((message, expression))) => {
                stats::count(Kind::Refused, [1, 0, 0]);
                return refuse(db, error, &message, expression);
            }
            Err(_) => {
                *db = null_mut();
                *error = error::INTERNAL.as_ptr();
                return HS_COMPILER_ERROR;
            }
        };
        let patterns = &tables.set.patterns().expressions;
        let text = patterns.iter().map(|one| one.text.len() as u64).sum();
        stats::count(Kind::Patterns, [patterns.len() as u64, text, 0]);
        stats::count(Kind::Databases, [1, tables.set.memory() as u64, 0]);
        match database::new(tables, platform_bits(platform.as_ref())) {
            Ok(made) => {
                *db = made;
                *error = null_mut();
                HS_SUCCESS
            }
            Err(code) => {
                *db = null_mut();
                *error = error::of_code(code);
                HS_COMPILER_ERROR
            }
        }
    }
}

/// What the database is said to do without.
fn platform_bits(platform: Option<&PlatformInfo>) -> u64 {
    let features = platform.copied().unwrap_or_else(platform::here).cpu_features;
    let lacks = [HS_CPU_FEATURES_AVX512VBMI, HS_CPU_FEATURES_AVX512, HS_CPU_FEATURES_AVX2];
    let first = lacks.iter().position(|feature| features & feature != 0).unwrap_or(3);
    PLATFORMS[first].0
}

fn invalid<T>(what: &str) -> Result<T, Refusal> {
    Err((format!("Invalid parameter: {what}"), -1))
}

fn check(several: &Several, mode: c_uint, platform: Option<&PlatformInfo>) -> Result<(), Refusal> {
    if several.expressions.is_null() {
        return invalid("expressions is NULL");
    }
    if several.lens.is_some_and(|lens| lens.is_null()) {
        return invalid("len is NULL");
    }
    if several.elements == 0 {
        return invalid("elements is zero");
    }
    check_mode(mode)?;
    let features = HS_CPU_FEATURES_AVX2 | HS_CPU_FEATURES_AVX512 | HS_CPU_FEATURES_AVX512VBMI;
    if platform.is_some_and(|platform| platform.cpu_features & !features != 0) {
        return Err(("Invalid cpu features specified in the platform information.".into(), -1));
    }
    if platform.is_some_and(|platform| platform.tune > HS_TUNE_FAMILY_ICX) {
        return Err(("Invalid tuning value specified in the platform information.".into(), -1));
    }
    Ok(())
}

const KINDS: c_uint = HS_MODE_BLOCK | HS_MODE_STREAM | HS_MODE_VECTORED;
const HORIZONS: c_uint =
    HS_MODE_SOM_HORIZON_LARGE | HS_MODE_SOM_HORIZON_MEDIUM | HS_MODE_SOM_HORIZON_SMALL;

fn check_mode(mode: c_uint) -> Result<(), Refusal> {
    if mode & !(KINDS | HORIZONS) != 0 {
        return invalid("unrecognised mode flags.");
    }
    if (mode & KINDS).count_ones() != 1 {
        return invalid(
            "mode must have one (and only one) of HS_MODE_BLOCK, HS_MODE_STREAM or \
             HS_MODE_VECTORED set.",
        );
    }
    if mode & HORIZONS != 0 && mode & HS_MODE_STREAM == 0 {
        return invalid("the HS_MODE_SOM_HORIZON_ mode flags may only be set in streaming mode.");
    }
    if (mode & HORIZONS).count_ones() > 1 {
        return invalid("only one HS_MODE_SOM_HORIZON_ mode flag can be set.");
    }
    Ok(())
}

/// The bytes of an expression, or none.
unsafe fn text(several: &Several, at: usize) -> Result<Vec<u8>, Refusal> {
    // SAFETY: the caller's arrays.
    let bytes = unsafe {
        let expression = *several.expressions.add(at);
        if expression.is_null() {
            return Err(("Invalid parameter: expression is NULL".into(), at as c_int));
        }
        match several.lens {
            None => CStr::from_ptr(expression).to_bytes(),
            Some(lens) => std::slice::from_raw_parts(expression.cast::<u8>(), *lens.add(at)),
        }
    };
    Ok(bytes.to_vec())
}

unsafe fn tables(several: &Several, mode: c_uint) -> Result<Box<Tables>, Refusal> {
    let mut expressions = Vec::with_capacity(several.elements as usize);
    for at in 0..several.elements as usize {
        // SAFETY: the caller's arrays, null or of this length.
        let (flags, id, extended) = unsafe {
            let flags = if several.flags.is_null() { 0 } else { *several.flags.add(at) };
            let id = if several.ids.is_null() { 0 } else { *several.ids.add(at) };
            let extended = if several.extended.is_null() {
                None
            } else {
                (*several.extended.add(at)).as_ref()
            };
            (flags, id, extended)
        };
        let literal = several.lens.is_some();
        // SAFETY: as above.
        let text = unsafe { text(several, at)? };
        let refused = |message: String| (message, at as c_int);
        let expression = expression(text, id, flags, extended, literal).map_err(refused)?;
        if expression.flags.som_leftmost && mode & HS_MODE_STREAM != 0 && mode & HORIZONS == 0 {
            return Err(refused(NO_HORIZON.into()));
        }
        expressions.push(expression);
    }
    let kind = mode & KINDS;
    let patterns = Patterns {
        expressions: expressions.into(),
        mode: if kind == HS_MODE_BLOCK { Mode::Block } else { Mode::Stream },
    };
    let set = Set::compile(&patterns, Cpu::host()).map_err(|bad| {
        let first = bad.into_iter().min_by_key(|one| one.index);
        first.map_or(("Internal error.".into(), -1), |one| {
            let expression = &patterns.expressions[one.index];
            let message = wording::of(expression, &one);
            // The original does not say whose operand it is.
            let place = if message == wording::UNKNOWN_OPERAND { -1 } else { one.index as c_int };
            (message, place)
        })
    })?;
    one_match_each(&patterns)?;
    let horizon = match mode & HORIZONS {
        HS_MODE_SOM_HORIZON_MEDIUM => u64::from(u32::MAX),
        HS_MODE_SOM_HORIZON_SMALL => u64::from(u16::MAX),
        _ => u64::MAX,
    };
    Ok(Box::new(Tables::new(set, kind, horizon)))
}

/// Patterns with one id have the flag for a single match either all or none: it is a match of the id.
fn one_match_each(patterns: &Patterns) -> Result<(), Refusal> {
    let mut known = std::collections::HashMap::new();
    for (index, one) in patterns.expressions.iter().enumerate() {
        let (first, flag) = *known.entry(one.id).or_insert((index, one.flags.single_match));
        if flag != one.flags.single_match {
            let (this, that) =
                if flag { ("did not specify", "did") } else { ("specified", "did not") };
            let message = format!(
                "Expression (index {index}) with match ID {} {this} HS_FLAG_SINGLEMATCH whereas \
                 previous expression (index {first}) with the same match ID {that}.",
                one.id
            );
            return Err((message, index as c_int));
        }
    }
    Ok(())
}

const NO_HORIZON: &str = "To use a SOM expression flag in streaming mode, an SOM precision mode (e.g. \
                          HS_MODE_SOM_HORIZON_LARGE) must be specified.";

/// An expression with its flags and conditions, where these can be used together.
pub(crate) fn expression(
    text: Vec<u8>,
    id: u32,
    bits: c_uint,
    extended: Option<&ExpressionExtended>,
    literal: bool,
) -> Result<Expression, String> {
    let known = Flags::from_bits(bits & HS_FLAG_ALL).unwrap_or_default();
    if literal {
        let allowed = HS_FLAG_CASELESS | HS_FLAG_SINGLEMATCH | HS_FLAG_SOM_LEFTMOST;
        if bits & HS_FLAG_ALL & !allowed != 0 {
            return Err("Only HS_FLAG_CASELESS, HS_FLAG_SINGLEMATCH and HS_FLAG_SOM_LEFTMOST are \
                        supported in literal API."
                .into());
        }
    } else if known.combination {
        let allowed = HS_FLAG_COMBINATION | HS_FLAG_QUIET | HS_FLAG_SINGLEMATCH;
        if bits & !allowed != 0 {
            return Err("only HS_FLAG_QUIET and HS_FLAG_SINGLEMATCH are supported in combination \
                        with HS_FLAG_COMBINATION."
                .into());
        }
    } else if known.quiet && known.som_leftmost {
        return Err(conflict("QUIET"));
    }
    if bits & !HS_FLAG_ALL != 0 {
        return Err("Unrecognised flag.".into());
    }
    if known.single_match && known.som_leftmost {
        return Err(conflict("SINGLEMATCH"));
    }
    if known.prefilter && known.som_leftmost {
        return Err(conflict("PREFILTER"));
    }
    let mut conditions = match extended {
        Some(extended) => conditions(extended, known.combination)?,
        None => Extended::default(),
    };
    if known.prefilter {
        // As in the original: a prefilter knows no starts.
        conditions.min_length = None;
    }
    Ok(Expression { id, text, flags: known, extended: conditions, literal })
}

fn conflict(flag: &str) -> String {
    format!("HS_FLAG_{flag} is not supported in combination with HS_FLAG_SOM_LEFTMOST.")
}

fn conditions(extended: &ExpressionExtended, combination: bool) -> Result<Extended, String> {
    let given = |flag| extended.flags & flag != 0;
    let all = HS_EXT_FLAG_MIN_OFFSET
        | HS_EXT_FLAG_MAX_OFFSET
        | HS_EXT_FLAG_MIN_LENGTH
        | HS_EXT_FLAG_EDIT_DISTANCE
        | HS_EXT_FLAG_HAMMING_DISTANCE;
    if given(!all) {
        return Err("Invalid hs_expr_ext flag set.".into());
    }
    let order =
        |what| Err(format!("In hs_expr_ext, {what} must be less than or equal to max_offset."));
    let limited = given(HS_EXT_FLAG_MAX_OFFSET);
    if limited && given(HS_EXT_FLAG_MIN_OFFSET) && extended.min_offset > extended.max_offset {
        return order("min_offset");
    }
    if limited && given(HS_EXT_FLAG_MIN_LENGTH) && extended.min_length > extended.max_offset {
        return order("min_length");
    }
    if given(HS_EXT_FLAG_EDIT_DISTANCE) && given(HS_EXT_FLAG_HAMMING_DISTANCE) {
        return Err("In hs_expr_ext, cannot have both edit distance and Hamming distance.".into());
    }
    if combination && given(!(HS_EXT_FLAG_MIN_OFFSET | HS_EXT_FLAG_MAX_OFFSET)) {
        return Err(
            "only HS_EXT_FLAG_MIN_OFFSET and HS_EXT_FLAG_MAX_OFFSET extra flags are supported \
                    in combination with HS_FLAG_COMBINATION."
                .into(),
        );
    }
    Ok(Extended {
        min_offset: given(HS_EXT_FLAG_MIN_OFFSET).then_some(extended.min_offset),
        max_offset: given(HS_EXT_FLAG_MAX_OFFSET).then_some(extended.max_offset),
        min_length: given(HS_EXT_FLAG_MIN_LENGTH).then_some(extended.min_length),
        edit_distance: given(HS_EXT_FLAG_EDIT_DISTANCE).then_some(extended.edit_distance),
        hamming_distance: given(HS_EXT_FLAG_HAMMING_DISTANCE).then_some(extended.hamming_distance),
    })
}
