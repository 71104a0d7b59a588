//! Constants and types are those of Hyperscan's headers, as a C compiler sees them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use lookaside_hs::abi::*;

/// Compiles a program and returns what it prints.
fn output_of(source: &str) -> String {
    let folder = std::env::temp_dir().join(format!("lookaside-hs-header-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, program) = (folder.join("header.c"), folder.join("header"));
    std::fs::write(&file, source).unwrap();
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(cc).arg("-o").arg(&program).arg(&file).status().unwrap();
    assert!(built.success(), "the C compiler refuses\n{source}");
    let said = Command::new(&program).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn constants_and_types_are_the_headers() {
    if !Path::new("/usr/include/hs/hs.h").exists() {
        eprintln!("SKIPPED: package libhyperscan-dev is not installed");
        return;
    }
    let mut expected: Vec<(String, i128)> = vec![];
    macro_rules! constants {
        ($($name:ident)*) => { $(expected.push((stringify!($name).into(), i128::from($name)));)* };
    }
    constants!(HS_SUCCESS HS_INVALID HS_NOMEM HS_SCAN_TERMINATED HS_COMPILER_ERROR HS_DB_VERSION_ERROR);
    constants!(HS_DB_PLATFORM_ERROR HS_DB_MODE_ERROR HS_BAD_ALIGN HS_BAD_ALLOC HS_SCRATCH_IN_USE);
    constants!(HS_ARCH_ERROR HS_INSUFFICIENT_SPACE HS_UNKNOWN_ERROR HS_MODE_BLOCK HS_MODE_STREAM);
    constants!(HS_MODE_VECTORED HS_MODE_SOM_HORIZON_LARGE HS_MODE_SOM_HORIZON_MEDIUM);
    constants!(HS_MODE_SOM_HORIZON_SMALL HS_FLAG_SOM_LEFTMOST HS_FLAG_PREFILTER HS_FLAG_SINGLEMATCH);
    constants!(HS_FLAG_CASELESS HS_FLAG_COMBINATION HS_FLAG_QUIET HS_EXT_FLAG_MIN_OFFSET);
    constants!(HS_EXT_FLAG_MAX_OFFSET HS_EXT_FLAG_MIN_LENGTH HS_EXT_FLAG_EDIT_DISTANCE);
    constants!(HS_EXT_FLAG_HAMMING_DISTANCE HS_CPU_FEATURES_AVX2 HS_CPU_FEATURES_AVX512);
    constants!(HS_CPU_FEATURES_AVX512VBMI HS_TUNE_FAMILY_ICX HS_TUNE_FAMILY_GENERIC);
    constants!(HS_OFFSET_PAST_HORIZON);
    for (name, flags) in [
        ("HS_FLAG_DOTALL", lookaside_scan::Flags { dot_all: true, ..Default::default() }),
        ("HS_FLAG_MULTILINE", lookaside_scan::Flags { multi_line: true, ..Default::default() }),
        ("HS_FLAG_ALLOWEMPTY", lookaside_scan::Flags { allow_empty: true, ..Default::default() }),
        ("HS_FLAG_UTF8", lookaside_scan::Flags { utf8: true, ..Default::default() }),
        ("HS_FLAG_UCP", lookaside_scan::Flags { ucp: true, ..Default::default() }),
    ] {
        expected.push((name.into(), flags.bits().into()));
    }
    macro_rules! layout {
        ($own:ty, $c:literal: $($field:ident)*) => {
            expected.push((format!("sizeof({})", $c), size_of::<$own>() as i128));
            $(expected.push((
                format!("offsetof({}, {})", $c, stringify!($field)),
                std::mem::offset_of!($own, $field) as i128,
            ));)*
        };
    }
    layout!(CompileError, "hs_compile_error_t": message expression);
    layout!(PlatformInfo, "hs_platform_info_t": tune cpu_features reserved1 reserved2);
    layout!(ExpressionInfo, "hs_expr_info_t": min_width max_width unordered_matches matches_at_eod matches_only_at_eod);
    layout!(ExpressionExtended, "hs_expr_ext_t": flags min_offset max_offset min_length edit_distance hamming_distance);

    let mut source = String::from(
        "#include <hs/hs.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n",
    );
    for (name, value) in &expected {
        // Of unsigned 64-bit constants those that are too large for the signed type are told apart by their sign.
        let format = if *value > i128::from(i64::MAX) { "%llu" } else { "%lld" };
        let _ = writeln!(source, "printf(\"{format}\\n\", (long long)({name}));");
    }
    source.push_str("return 0;\n}\n");
    let said = output_of(&source);
    let values: Vec<i128> = said.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), expected.len());
    for ((name, ours), headers) in expected.iter().zip(values) {
        assert_eq!(*ours, headers, "{name}");
    }
}
