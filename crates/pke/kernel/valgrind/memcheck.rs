//! Requests to valgrind's memcheck: sequences of instructions that do nothing on a CPU.

/// Numbers of valgrind.h.
const RUNNING_ON_VALGRIND: u64 = 0x1001;
const COUNT_ERRORS: u64 = 0x1201;
/// Numbers of memcheck.h: 'M', 'C', and which.
const MAKE_MEM_UNDEFINED: u64 = 0x4d43_0001;
const MAKE_MEM_DEFINED: u64 = 0x4d43_0002;
const GET_VBITS: u64 = 0x4d43_0008;
const SET_VBITS: u64 = 0x4d43_0009;

/// Asks; 0 where there is no valgrind.
#[cfg(target_arch = "x86_64")]
fn ask(request: u64, arguments: [u64; 3]) -> u64 {
    let [first, second, third] = arguments;
    let words = [request, first, second, third, 0, 0];
    let mut answer = 0;
    // SAFETY: on a CPU the rotations add up to 128 bits and the exchange is of a register with
    // itself. Valgrind reads the words and answers in rdx; callers pass memory that is alive.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") answer,
            out("rdi") _,
            options(nostack),
        );
    }
    answer
}

/// Nobody to ask: the sequences are those of x86-64.
#[cfg(not(target_arch = "x86_64"))]
fn ask(_request: u64, _arguments: [u64; 3]) -> u64 {
    0
}

/// Address and length. Memory is borrowed for changes, though valgrind makes none: or the compiler
/// would go on with the content that it knows, from elsewhere.
fn of(memory: &mut [u8]) -> [u64; 2] {
    [memory.as_mut_ptr().expose_provenance() as u64, memory.len() as u64]
}

/// Whether this runs under valgrind.
pub fn is_here() -> bool {
    ask(RUNNING_ON_VALGRIND, [0; 3]) > 0
}

/// How often it complained.
pub fn errors() -> u64 {
    ask(COUNT_ERRORS, [0; 3])
}

/// No bit of it is defined any more.
pub fn make_undefined(memory: &mut [u8]) {
    let [address, len] = of(memory);
    ask(MAKE_MEM_UNDEFINED, [address, len, 0]);
}

/// Every bit of it is defined.
pub fn make_defined(memory: &mut [u8]) {
    let [address, len] = of(memory);
    ask(MAKE_MEM_DEFINED, [address, len, 0]);
}

/// Of a byte that is undefined, all but the lowest bit stays so.
pub fn make_lowest_bit_defined(byte: &mut u8) {
    // A bit that is set is not defined.
    let mut marks = [0xfe];
    let [address, len] = of(core::slice::from_mut(byte));
    ask(SET_VBITS, [address, of(&mut marks)[0], len]);
}

/// Whether any bit of it is undefined.
pub fn is_undefined(memory: &mut [u8]) -> bool {
    let mut marks = vec![0; memory.len()];
    let [address, len] = of(memory);
    let done = ask(GET_VBITS, [address, of(&mut marks)[0], len]);
    assert_eq!(done, 1, "valgrind does not tell");
    marks.iter().any(|mark| *mark != 0)
}
