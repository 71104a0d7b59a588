//! The C interface of the parallel compression framework: `cf.h` and `libcf.so` (paper 1 section
//! 8.2). See `include/cf.h` for what each function promises.
#![deny(unsafe_code)]

mod ffi;
mod params;
mod registered;
mod status;
