//! Every exported function: that a test calls it, and what it makes of arguments that are all 0.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{CString, c_void},
    fs,
    path::{Path, PathBuf},
};

use lookaside_qat::{abi::*, unsupported::UNSUPPORTED};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn exports() -> BTreeSet<String> {
    let lists = ["exports.txt", "usdm/exports.txt"].map(|list| here().join(list));
    let names = lists.map(|list| fs::read_to_string(list).unwrap());
    names.iter().flat_map(|names| names.lines()).map(str::to_owned).collect()
}

/// Source text without what names a function and does not call it.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut imports = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        imports |= line.starts_with("use ") || line.starts_with("pub use ");
        if !imports {
            code.push_str(line);
            code.push('\n');
        }
        imports &= !line.contains(';');
    }
    code
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_str().unwrap_or_default();
        match path.is_dir() {
            true => sources(&path, found),
            // This one calls them all, and the layout calls none.
            false if ["exports.rs", "layout.c", "layout.rs"].contains(&name) => {}
            false if name.ends_with(".rs") || name.ends_with(".c") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn a_test_calls_each() {
    let mut files = Vec::new();
    for folder in ["tests", "usdm/tests"] {
        sources(&here().join(folder), &mut files);
    }
    let mut words = BTreeSet::new();
    for file in &files {
        let code = code_of(&fs::read_to_string(file).unwrap());
        let word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        words.extend(code.split(word).map(str::to_owned));
    }
    let uncalled: Vec<_> = exports()
        .into_iter()
        // `library.rs` calls all of these, by their list.
        .filter(|name| !UNSUPPORTED.contains(&name.as_str()) && !words.contains(name))
        .collect();
    assert!(files.len() > 30 && uncalled.is_empty(), "no test calls {uncalled:?}");
}

#[test]
fn imports_and_comments_are_no_calls() {
    let text = "use a::b;\nuse c::{\n    d,\n    e,\n};\n// f\nlet x = g(); // h\n";
    assert_eq!(code_of(text), "\nlet x = g(); \n");
}

/// A library that cargo has built: beside this test, or one folder up.
fn load(name: &str) -> *mut c_void {
    let exe = env::current_exe().unwrap();
    let found = exe.ancestors().skip(1).take(2).map(|d| d.join(name)).find(|p| p.exists());
    let path = found.unwrap_or_else(|| panic!("{name} is not near {}", exe.display()));
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a library of this crate.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null());
    library
}

type Function = extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> CpaStatus;

/// What a function answers to this first argument and 0 for all others.
fn answer(library: *mut c_void, name: &str, first: usize) -> CpaStatus {
    let symbol = CString::new(name).unwrap();
    // SAFETY: a function of the library that returns a status. It takes integers and pointers, fewer than these: what is
    // passed beyond them lies where this function's own arguments to it end. A structure by value is 0 as they are.
    unsafe {
        let function = libc::dlsym(library, symbol.as_ptr());
        assert!(!function.is_null(), "{name}");
        let function = std::mem::transmute::<*mut c_void, Function>(function);
        function(first, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    }
}

/// The functions that return a status, and whether their first argument is an instance: as the headers have them.
fn functions() -> BTreeMap<String, bool> {
    let mut text = String::new();
    for header in fs::read_dir(here().join("include")).unwrap() {
        text.push_str(&fs::read_to_string(header.unwrap().path()).unwrap());
    }
    let exports = exports();
    let declared = text.split("\nCpaStatus ").skip(1).filter_map(|rest| {
        let (name, arguments) = rest.split_once('(')?;
        let first = arguments.split([',', ')']).next()?;
        exports.contains(name).then(|| (name.to_owned(), first.contains("CpaInstanceHandle")))
    });
    declared.filter(|(name, _)| !UNSUPPORTED.contains(&name.as_str())).collect()
}

/// What is no error although all arguments are 0. A null instance is the default one.
const GOOD: [(&str, CpaStatus); 30] = [
    // No callback ends notifications.
    ("cpaCyInstanceSetNotificationCb", CPA_STATUS_SUCCESS),
    ("cpaDcInstanceSetNotificationCb", CPA_STATUS_SUCCESS),
    ("cpaCyStopInstance", CPA_STATUS_SUCCESS),
    ("cpaCyStartInstance", CPA_STATUS_SUCCESS),
    ("cpaDcStopInstance", CPA_STATUS_SUCCESS),
    ("cpaDcStartInstance", CPA_STATUS_SUCCESS),
    ("cpaCySymDpPerformOpNow", CPA_STATUS_SUCCESS),
    ("cpaDcDpPerformOpNow", CPA_STATUS_SUCCESS),
    ("cpaInstanceSetIntCoalescingTimer", CPA_STATUS_SUCCESS),
    ("icp_sal_check_all_devices", CPA_STATUS_SUCCESS),
    ("icp_sal_check_device", CPA_STATUS_SUCCESS),
    ("icp_sal_find_new_devices", CPA_STATUS_SUCCESS),
    ("icp_sal_ns_cnv_simulate_error", CPA_STATUS_SUCCESS),
    ("icp_sal_ns_cnv_reset_error", CPA_STATUS_SUCCESS),
    ("icp_sal_poll_device_events", CPA_STATUS_SUCCESS),
    ("icp_sal_reset_device", CPA_STATUS_SUCCESS),
    // Nothing is in flight.
    ("icp_sal_CyPollAsymRing", CPA_STATUS_RETRY),
    ("icp_sal_CyPollDpInstance", CPA_STATUS_RETRY),
    ("icp_sal_CyPollInstance", CPA_STATUS_RETRY),
    ("icp_sal_CyPollSymRing", CPA_STATUS_RETRY),
    ("icp_sal_DcPollDpInstance", CPA_STATUS_RETRY),
    ("icp_sal_DcPollInstance", CPA_STATUS_RETRY),
    ("icp_sal_pollAllBanks", CPA_STATUS_RETRY),
    ("icp_sal_pollBank", CPA_STATUS_RETRY),
    // Polled instances have no descriptor; operation 0 is a chain that is not there.
    ("icp_sal_CyPutFileDescriptor", CPA_STATUS_UNSUPPORTED),
    ("icp_sal_DcPutFileDescriptor", CPA_STATUS_UNSUPPORTED),
    ("cpaDcChainGetSessionSize", CPA_STATUS_UNSUPPORTED),
    ("cpaDcChainInitSession", CPA_STATUS_UNSUPPORTED),
    ("cpaDcChainPerformOp", CPA_STATUS_UNSUPPORTED),
    ("cpaDcChainPerformOp2", CPA_STATUS_UNSUPPORTED),
];

#[test]
fn each_refuses_null_and_what_is_no_instance() {
    let library = load("liblookaside_qat.so");
    let functions = functions();
    // The others are of libusdm, or return a number.
    let others: Vec<_> = exports()
        .into_iter()
        .filter(|name| !UNSUPPORTED.contains(&name.as_str()) && !functions.contains_key(name))
        .filter(|name| !name.starts_with("qae"))
        .collect();
    let numbers =
        ["icp_sal_get_dc_error", "icp_sal_iommu_get_remap_size", "icp_sal_userIsQatAvailable"];
    assert_eq!(others, numbers);
    let mut wrong = Vec::new();
    let mut check = |name: &str, first, wanted| {
        let status = answer(library, name, first);
        if status != wanted {
            wrong.push(format!("{name}({first:#x}, 0...): {status} and not {wanted}"));
        }
    };
    for name in functions.keys().filter(|name| GOOD.iter().all(|(good, _)| good != name)) {
        match &name[..] {
            "icp_sal_userStop" => check(name, 0, CPA_STATUS_FAIL),
            _ => check(name, 0, CPA_STATUS_INVALID_PARAM),
        }
    }
    for (name, wanted) in GOOD {
        assert!(functions.contains_key(name), "{name}");
        check(name, 0, wanted);
    }
    // No memory is there: a handle is compared and not followed.
    for (name, _) in functions.iter().filter(|(_, takes_instance)| **takes_instance) {
        match &name[..] {
            // The operation is looked at first.
            "cpaDcChainPerformOp" | "cpaDcChainPerformOp2" => {
                check(name, 16, CPA_STATUS_UNSUPPORTED);
            }
            _ => check(name, 16, CPA_STATUS_INVALID_PARAM),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
