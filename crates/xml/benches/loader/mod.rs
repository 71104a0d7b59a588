//! Functions of the system's libxml2, loaded by their names.

/// What the functions point at.
pub type P = *mut std::ffi::c_void;

unsafe extern "C" {
    pub fn dlopen(name: *const std::ffi::c_char, flags: std::ffi::c_int) -> P;
    pub fn dlsym(library: P, name: *const std::ffi::c_char) -> P;
}

/// A structure of these functions, and what loads it.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// libxml2 of the system.
        #[allow(non_snake_case)]
        pub struct Libxml2 { $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl Libxml2 {
            /// `None`, and a line that says so, if it is not installed.
            pub fn open() -> Option<Libxml2> {
                // SAFETY: a library of the system, with functions of these types (libxml2's headers). 2 is RTLD_NOW.
                unsafe {
                    let library = $crate::loader::dlopen(c"libxml2.so.2".as_ptr(), 2);
                    if library.is_null() {
                        eprintln!("bench-xml: libxml2 is not installed: no rival");
                        return None;
                    }
                    let find = |name: &std::ffi::CStr| {
                        let found = $crate::loader::dlsym(library, name.as_ptr());
                        assert!(!found.is_null(), "{name:?}");
                        found
                    };
                    Some(Libxml2 {
                        $($name: std::mem::transmute::<
                            $crate::loader::P,
                            unsafe extern "C" fn($($argument),*) $(-> $result)?,
                        >(
                            find(std::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())),
                        ),)*
                    })
                }
            }
        }
    };
}
