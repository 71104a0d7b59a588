//! What the tests of compression share: sessions, buffer lists, and zlib as the judge.
#![allow(dead_code)]

use std::{
    ffi::{CString, c_void},
    ptr,
    sync::Mutex,
};

use libz_sys as z;
use lookaside_qat::{abi::*, dc::calls::*, dc::session::*, discovery::*, sal::*};

/// The default instance.
pub const DEFAULT: CpaInstanceHandle = ptr::null_mut();

pub fn start() {
    let name = CString::new("SSL").unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { icp_sal_userStart(name.as_ptr()) }, CPA_STATUS_SUCCESS);
}

/// The `n`-th instance of compression.
pub fn instance(n: usize) -> CpaInstanceHandle {
    let mut handles = vec![ptr::null_mut(); n + 1];
    // SAFETY: as many places as asked for.
    let status = unsafe { cpaDcGetInstances(n as u16 + 1, handles.as_mut_ptr()) };
    assert_eq!(status, CPA_STATUS_SUCCESS);
    handles[n]
}

pub fn text(len: usize) -> Vec<u8> {
    let lines = (0_u64..).flat_map(|n| format!("line {} of {n}\n", n * n % 977).into_bytes());
    lines.take(len).collect()
}

pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(next).collect()
}

pub fn setup() -> CpaDcSessionSetupData {
    CpaDcSessionSetupData {
        compLevel: CPA_DC_L1,
        compType: CPA_DC_DEFLATE,
        huffType: CPA_DC_HT_FULL_DYNAMIC,
        autoSelectBestHuffmanTree: CPA_DC_ASB_ENABLED,
        sessDirection: CPA_DC_DIR_COMBINED,
        sessState: CPA_DC_STATELESS,
        windowSize: CPA_DC_WINSIZE_32K,
        minMatch: CPA_DC_MIN_3_BYTE_MATCH,
        lz4BlockMaxSize: CPA_DC_LZ4_MAX_BLOCK_SIZE_64K,
        lz4BlockChecksum: CPA_FALSE,
        lz4BlockIndependence: CPA_FALSE,
        checksum: CPA_DC_CRC32,
        accumulateXXHash: CPA_FALSE,
    }
}

pub fn op(flush: CpaDcFlush) -> CpaDcOpData {
    let none = CpaDcSkipData {
        skipMode: CPA_DC_SKIP_DISABLED,
        skipLength: 0,
        strideLength: 0,
        firstSkipOffset: 0,
    };
    CpaDcOpData {
        flushFlag: flush,
        compressAndVerify: CPA_FALSE,
        compressAndVerifyAndRecover: CPA_FALSE,
        integrityCrcCheck: CPA_FALSE,
        verifyHwIntegrityCrcs: CPA_FALSE,
        integrityCrcSize: CPA_DC_INTEGRITY_CRC32,
        inputSkipData: none,
        outputSkipData: none,
        pCrcData: ptr::null_mut(),
    }
}

pub fn results() -> CpaDcRqResults {
    CpaDcRqResults {
        status: CpaDcReqStatus(77),
        produced: 77,
        consumed: 77,
        checksum: 77,
        endOfLastBlock: CpaBoolean(7),
        dataUncompressed: CpaBoolean(7),
    }
}

/// A buffer list over pieces of one vector.
pub struct List {
    pub bytes: Vec<u8>,
    pub flats: Vec<CpaFlatBuffer>,
    pub list: CpaBufferList,
}

// SAFETY: its pointers are into its own vectors.
unsafe impl Send for List {}

impl List {
    pub fn new(bytes: Vec<u8>) -> Box<List> {
        List::split(bytes, &[])
    }

    pub fn room(len: usize) -> Box<List> {
        List::new(vec![0xee; len])
    }

    /// Pieces that end at these places.
    pub fn split(mut bytes: Vec<u8>, ends: &[usize]) -> Box<List> {
        let (base, len) = (bytes.as_mut_ptr(), bytes.len());
        let mut start = 0;
        let mut flats = Vec::new();
        for end in ends.iter().copied().chain([len]) {
            let end = end.clamp(start, len);
            let data = base.wrapping_add(start);
            flats.push(CpaFlatBuffer { dataLenInBytes: (end - start) as u32, pData: data });
            start = end;
        }
        let list = CpaBufferList {
            numBuffers: flats.len() as u32,
            pBuffers: flats.as_mut_ptr(),
            pUserData: ptr::null_mut(),
            pPrivateMetaData: ptr::null_mut(),
        };
        Box::new(List { bytes, flats, list })
    }

    pub fn get(&mut self) -> *mut CpaBufferList {
        &raw mut self.list
    }

    pub fn first(&self, len: u32) -> &[u8] {
        &self.bytes[..len as usize]
    }
}

/// A session in memory of its own, removed at the end.
pub struct Held {
    memory: Box<[u64; 9]>,
    pub instance: CpaInstanceHandle,
}

impl Held {
    pub fn new(data: &CpaDcSessionSetupData, callback: CpaDcCallbackFn) -> Held {
        Held::on(DEFAULT, data, callback)
    }

    pub fn on(
        instance: CpaInstanceHandle,
        data: &CpaDcSessionSetupData,
        callback: CpaDcCallbackFn,
    ) -> Held {
        let (mut data, mut size, mut context) = (*data, 0, 9);
        let mut held = Held { memory: Box::new([0; 9]), instance };
        // SAFETY: structures of this function's.
        unsafe {
            let status =
                cpaDcGetSessionSize(instance, &raw mut data, &raw mut size, &raw mut context);
            assert_eq!((status, context), (CPA_STATUS_SUCCESS, 0));
            assert!(size as usize <= size_of_val(&*held.memory));
            let none = ptr::null_mut();
            let handle = held.handle();
            let status = cpaDcInitSession(instance, handle, &raw mut data, none, callback);
            assert_eq!(status, CPA_STATUS_SUCCESS);
        }
        held
    }

    pub fn handle(&mut self) -> *mut c_void {
        self.memory.as_mut_ptr().cast()
    }

    pub fn compress(
        &mut self,
        src: &mut List,
        dst: &mut List,
        op: &mut CpaDcOpData,
        results: &mut CpaDcRqResults,
    ) -> CpaStatus {
        let (instance, handle, tag) = (self.instance, self.handle(), ptr::null_mut());
        // SAFETY: all live until the return: sessions of these tests with this call are synchronous.
        unsafe { cpaDcCompressData2(instance, handle, src.get(), dst.get(), op, results, tag) }
    }

    pub fn decompress(
        &mut self,
        src: &mut List,
        dst: &mut List,
        op: &mut CpaDcOpData,
        results: &mut CpaDcRqResults,
    ) -> CpaStatus {
        let (instance, handle, tag) = (self.instance, self.handle(), ptr::null_mut());
        // SAFETY: as above.
        unsafe { cpaDcDecompressData2(instance, handle, src.get(), dst.get(), op, results, tag) }
    }

    pub fn remove(&mut self) -> CpaStatus {
        let (instance, handle) = (self.instance, self.handle());
        // SAFETY: memory of a session's size.
        unsafe { cpaDcRemoveSession(instance, handle) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.remove();
    }
}

/// What callbacks were called with.
#[derive(Default)]
pub struct Called(pub Mutex<Vec<CpaStatus>>);

impl Called {
    pub fn tag(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    pub fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A callback that notes the status at its tag.
pub unsafe extern "C" fn note(tag: *mut c_void, status: CpaStatus) {
    // SAFETY: the tag is a `Called` that lives.
    unsafe { &*tag.cast::<Called>() }.0.lock().unwrap().push(status);
}

/// zlib's decoder: 15 for zlib, 31 for gzip, -15 for raw.
pub fn inflate(bytes: &[u8], bits: i32, dictionary: Option<&[u8]>) -> Result<Vec<u8>, i32> {
    let mut out = vec![0; 1 << 16];
    let mut plain = Vec::new();
    // SAFETY: zlib's own structure, and buffers of this function's.
    unsafe {
        // Null functions are what zlib asks for; as a value of Rust the structure has none.
        let mut place = std::mem::MaybeUninit::<z::z_stream>::zeroed();
        let stream = place.as_mut_ptr();
        let version = z::zlibVersion();
        let size = size_of::<z::z_stream>() as i32;
        assert_eq!(z::inflateInit2_(stream, bits, version, size), z::Z_OK);
        if let Some(d) = dictionary {
            let set = z::inflateSetDictionary(stream, d.as_ptr(), d.len() as u32);
            assert_eq!(set, z::Z_OK);
        }
        (*stream).next_in = bytes.as_ptr().cast_mut();
        (*stream).avail_in = bytes.len() as u32;
        let code = loop {
            (*stream).next_out = out.as_mut_ptr();
            (*stream).avail_out = out.len() as u32;
            let code = z::inflate(stream, z::Z_NO_FLUSH);
            plain.extend_from_slice(&out[..out.len() - (*stream).avail_out as usize]);
            if code != z::Z_OK {
                break code;
            }
        };
        z::inflateEnd(stream);
        // Z_BUF_ERROR: all was taken, and the stream has no end.
        match code {
            z::Z_STREAM_END if (*stream).avail_in == 0 => Ok(plain),
            z::Z_BUF_ERROR if (*stream).avail_in == 0 => Err(z::Z_BUF_ERROR),
            code => Err(code),
        }
    }
}

/// What pieces without an end decode to.
pub fn inflate_pieces(bytes: &[u8]) -> Vec<u8> {
    let ended = [bytes, &[3, 0]].concat();
    inflate(&ended, -15, None).expect("pieces at byte boundaries")
}

pub fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: as many bytes as said.
    unsafe { z::crc32(0, bytes.as_ptr(), bytes.len() as u32) as u32 }
}

pub fn adler32(bytes: &[u8]) -> u32 {
    // SAFETY: as many bytes as said.
    unsafe { z::adler32(1, bytes.as_ptr(), bytes.len() as u32) as u32 }
}

pub fn bound(len: usize) -> usize {
    let mut bound = 0;
    // SAFETY: a place of this function's.
    let status = unsafe {
        lookaside_qat::dc::capability::cpaDcDeflateCompressBound(
            DEFAULT,
            CPA_DC_HT_FULL_DYNAMIC,
            len as u32,
            &raw mut bound,
        )
    };
    assert_eq!(status, CPA_STATUS_SUCCESS);
    bound as usize
}

/// Polls an instance until something is so. With engines an answer takes its time.
pub fn poll_until(at: CpaInstanceHandle, mut done: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !done() {
        // SAFETY: a handle.
        let status = unsafe { icp_sal_DcPollInstance(at, 0) };
        assert!([CPA_STATUS_SUCCESS, CPA_STATUS_RETRY].contains(&status));
        assert!(begin.elapsed().as_secs() < 60, "no answer");
        std::thread::yield_now();
    }
}

/// Runs all other tests of this program again, with two engine threads in place of none.
pub fn again_with_engines(this: &str) {
    const ENGINES: &str = "LOOKASIDE_QAT_ENGINES";
    if std::env::var_os(ENGINES).is_none() {
        let exe = std::env::current_exe().unwrap();
        let out = std::process::Command::new(exe)
            .args(["--skip", this])
            .env(ENGINES, "2")
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "with engines:\n{}\n{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr),
        );
    }
}
