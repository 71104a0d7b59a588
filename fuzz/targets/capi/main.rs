//! The C interface under arbitrary sequences of calls.
//!
//! The input is a program: one byte names a call, the next ones its arguments. Whatever the
//! program does within the contract of `lookaside.h`,
//!
//! * each accepted request is answered exactly once, on its own instance, with counts inside its
//!   buffers and a status that the header names;
//! * a push is refused with `LA_E_FULL` exactly when no slot is free;
//! * what was cancelled is answered so and has written nothing, and nothing else expires than what has a
//!   deadline;
//! * no byte outside a destination changes, and no source;
//! * what was compressed decompresses to the same;
//! * nothing hangs: a wait for what is outstanding ends.
//!
//! It also breaks the contract where the header promises an answer: null pointers, objects of the
//! wrong kind, unknown numbers, impossible settings.
#![cfg_attr(fuzzing, no_main)]

mod header;

use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};

use header::*;
use lookaside_fuzz::fuzz_target;
// Linked for its C symbols.
use lookaside_capi as _;

const MOST_OBJECTS: usize = 4;
const GUARD: usize = 32;
/// Far above what any request here takes.
const PATIENCE_NS: u64 = 5_000_000_000;

fuzz_target!(|program: &[u8]| {
    let mut bytes = Bytes(program);
    // Mostly without engines: then a run depends on its input alone.
    let engines = match bytes.next() {
        byte @ 0..16 => i32::from(byte % 3),
        _ => 0,
    };
    let Some(mut caller) = Caller::start(engines) else { panic!("no runtime") };
    while !bytes.0.is_empty() {
        caller.step(&mut bytes);
    }
    caller.finish();
});

/// The program's bytes; zeros when they are used up.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn next(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Mostly a number below `usual`, sometimes any.
    fn number(&mut self, usual: u8) -> i32 {
        match self.next() {
            255 => i32::from_le_bytes([self.next(), self.next(), self.next(), self.next()]),
            byte => i32::from(byte % usual),
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = usize::from(self.next());
        if from.is_empty() { None } else { Some(from[index % from.len()]) }
    }

    /// Text to compress: bytes of the program, repeated.
    fn data(&mut self) -> Vec<u8> {
        let len = usize::from(self.next());
        let times = 1 + usize::from(self.next() % 32);
        self.take(len).repeat(times)
    }

    /// A settings structure's size: as it should be, or any up to what lies behind the pointer.
    fn size_of<T>(&mut self) -> usize {
        match self.next() {
            0 => usize::from(self.next()).min(size_of::<Padded<T>>()),
            _ => size_of::<T>(),
        }
    }
}

/// A settings structure of a later version: more members than the library knows.
#[repr(C)]
struct Padded<T> {
    settings: T,
    more: [u64; 4],
}

/// The buffers of an outstanding request.
struct Lent {
    instance: Instance,
    src: Vec<u8>,
    original: Vec<u8>,
    /// Guards on both sides.
    dst: Vec<u8>,
    cancelled: bool,
    has_deadline: bool,
    /// The C interface reads them at the push only; kept for a neighbour that does not.
    _iovecs: [Vec<IoVec>; 2],
}

impl Lent {
    fn new(instance: Instance, src: Vec<u8>, dst_len: usize) -> Lent {
        let mut dst = vec![0xa5; GUARD];
        dst.resize(GUARD + dst_len, 0);
        dst.resize(GUARD + dst_len + GUARD, 0xa5);
        Lent {
            instance,
            original: src.clone(),
            src,
            dst,
            cancelled: false,
            has_deadline: false,
            _iovecs: [vec![], vec![]],
        }
    }

    fn dst_len(&self) -> usize {
        self.dst.len() - 2 * GUARD
    }

    fn check_memory(&self) {
        assert_eq!(self.src, self.original, "a source was written to");
        let (before, after) = (&self.dst[..GUARD], &self.dst[GUARD + self.dst_len()..]);
        assert!(before.iter().chain(after).all(|&byte| byte == 0xa5), "written outside");
    }

    fn check(&self, response: &Response) {
        self.check_memory();
        assert!(response.consumed <= self.src.len(), "{response:?}");
        assert!(response.produced <= self.dst_len(), "{response:?}");
        assert!(RESPONSES.contains(&response.status), "{response:?}");
        assert_eq!(response.status == LA_E_BAD_DATA, response.bad_reason != 0, "{response:?}");
        assert!(!self.cancelled || response.status == LA_E_CANCELLED, "{response:?}");
        assert!(self.has_deadline || response.status != LA_E_EXPIRED, "{response:?}");
        if [LA_E_CANCELLED, LA_E_EXPIRED].contains(&response.status) {
            assert_eq!((response.consumed, response.produced), (0, 0), "{response:?}");
            assert!(self.dst[GUARD..][..self.dst_len()].iter().all(|&byte| byte == 0), "it ran");
        }
    }

    /// The same memory in one piece, or scattered after `cut` bytes.
    fn request(&mut self, cut: Option<usize>) -> Request {
        let (src, dst) = (self.src.as_mut_ptr(), self.dst[GUARD..].as_mut_ptr());
        let (src_len, dst_len) = (self.src.len(), self.dst_len());
        let mut request = Request {
            tag: 0,
            op: 0,
            flush: 0,
            session: null_mut(),
            stream: null_mut(),
            src: src.cast(),
            src_len,
            src_iov: null(),
            src_iov_count: 0,
            dst: dst.cast(),
            dst_len,
            dst_iov: null(),
            dst_iov_count: 0,
            reserved: [0; 2],
        };
        if let Some(cut) = cut {
            let scatter = |base: *mut u8, len: usize| {
                let cut = cut.min(len);
                let empty = IoVec { base: null_mut(), len: 0 };
                let rest = base.wrapping_add(cut);
                let first = IoVec { base: base.cast(), len: cut };
                vec![first, empty, IoVec { base: rest.cast(), len: len - cut }]
            };
            self._iovecs = [scatter(src, src_len), scatter(dst, dst_len)];
            (request.src, request.src_len) = (null(), 0);
            (request.dst, request.dst_len) = (null_mut(), 0);
            (request.src_iov, request.src_iov_count) = (self._iovecs[0].as_ptr(), 3);
            (request.dst_iov, request.dst_iov_count) = (self._iovecs[1].as_ptr(), 3);
        }
        request
    }
}

/// A program in C, with what it holds.
struct Caller {
    runtime: Runtime,
    instances: Vec<Instance>,
    /// Each with whether it copies; the others compress.
    sessions: Vec<(Session, bool)>,
    streams: Vec<Stream>,
    /// Requests of one stream stay on one instance: the header asks for it.
    stream_home: HashMap<Stream, Instance>,
    outstanding: HashMap<u64, Lent>,
    next_tag: u64,
}

impl Caller {
    fn start(engines: i32) -> Option<Caller> {
        let options = RuntimeOptions {
            size: size_of::<RuntimeOptions>(),
            cpus: null(),
            cpu_count: 0,
            batch_deadline_ns: u64::MAX,
            engines,
            reserved: 0,
        };
        let mut runtime = null_mut();
        // SAFETY: a structure of its size, and room for a pointer.
        let status = unsafe { la_runtime_start(&options, &mut runtime) };
        (status == LA_OK).then(|| {
            // SAFETY: a live runtime.
            assert_eq!(unsafe { la_runtime_engines(runtime) }, engines);
            Caller {
                runtime,
                instances: Vec::new(),
                sessions: Vec::new(),
                streams: Vec::new(),
                stream_home: HashMap::new(),
                outstanding: HashMap::new(),
                next_tag: 1,
            }
        })
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.next() % 16 {
            0 => self.open_instance(bytes),
            1 => self.open_session(bytes),
            2 | 3 => self.open_stream(bytes),
            4..=7 => self.push(bytes),
            8 => self.cancel(bytes),
            9 => self.doorbell(bytes),
            10 => self.poll_some(bytes),
            11 => self.wait(bytes),
            12 => self.call(bytes),
            13 => self.close(bytes),
            14 => self.look(bytes),
            _ => self.break_the_contract(bytes),
        }
    }

    fn open_instance(&mut self, bytes: &mut Bytes<'_>) {
        if self.instances.len() == MOST_OBJECTS {
            return;
        }
        let mut padded = Padded {
            settings: InstanceOptions {
                size: bytes.size_of::<InstanceOptions>(),
                depth: bytes.number(9) as u32,
                weight: bytes.number(4) as u32,
                committed_per_s: 0,
                peak_per_s: 0,
                burst: 0,
                max_request: 0,
                unit: bytes.number(4),
                priority: bytes.number(4),
            },
            more: [0; 4],
        };
        if bytes.next() < 32 {
            // Rates so high that they never delay what this program does, or impossible ones.
            padded.settings.committed_per_s = u64::from(bytes.next()) << 40;
            padded.settings.peak_per_s = u64::from(bytes.next()) << 40;
            padded.settings.burst = u64::from(bytes.next()) << 20;
            padded.more[3] = u64::from(bytes.next() == 1);
        }
        let mut instance = null_mut();
        // SAFETY: a live runtime; a structure with at least the memory that its size says.
        let status =
            unsafe { la_instance_open(self.runtime, (&raw const padded).cast(), &mut instance) };
        if opened(status, instance) {
            self.instances.push(instance);
        }
    }

    fn compression(bytes: &mut Bytes<'_>) -> Padded<Compression> {
        Padded {
            settings: Compression {
                size: bytes.size_of::<Compression>(),
                format: bytes.number(8),
                level: bytes.number(13),
                huffman: bytes.number(2),
                window_bits: match bytes.next() {
                    byte @ 0..64 => i32::from(byte % 20),
                    _ => 15,
                },
                checksum: bytes.number(5),
                block_bits: 0,
            },
            more: [0; 4],
        }
    }

    fn open_session(&mut self, bytes: &mut Bytes<'_>) {
        if self.sessions.len() == MOST_OBJECTS {
            return;
        }
        let mut session = null_mut();
        let copies = bytes.next() < 64;
        let status = if copies {
            // SAFETY: a live runtime, and room for a pointer.
            unsafe { la_copy_session(self.runtime, &mut session) }
        } else {
            let settings = Caller::compression(bytes);
            let settings = (&raw const settings).cast();
            // SAFETY: as above; a structure with at least the memory that its size says.
            unsafe { la_compression_session(self.runtime, settings, &mut session) }
        };
        if opened(status, session) {
            self.sessions.push((session, copies));
        }
    }

    fn open_stream(&mut self, bytes: &mut Bytes<'_>) {
        if self.streams.len() == MOST_OBJECTS {
            return;
        }
        let dictionary = if bytes.next() < 64 { bytes.data() } else { Vec::new() };
        let (words, len) = (dictionary.as_ptr().cast(), dictionary.len());
        let words = if len == 0 { null() } else { words };
        let mut stream = null_mut();
        let status = if bytes.next().is_multiple_of(2) {
            let settings = Caller::compression(bytes);
            let settings = (&raw const settings).cast();
            // SAFETY: a live runtime; a structure with at least the memory that its size says; a
            // dictionary of its length; room for a pointer.
            unsafe { la_compress_stream(self.runtime, settings, words, len, &mut stream) }
        } else {
            let format = bytes.number(3);
            // SAFETY: as above.
            unsafe { la_decompress_stream(self.runtime, format, words, len, &mut stream) }
        };
        if opened(status, stream) {
            self.streams.push(stream);
        }
    }

    fn push(&mut self, bytes: &mut Bytes<'_>) {
        let Some(mut instance) = bytes.pick(&self.instances) else { return };
        let stream = if bytes.next().is_multiple_of(2) { bytes.pick(&self.streams) } else { None };
        let session = if stream.is_none() { bytes.pick(&self.sessions) } else { None };
        if let Some(stream) = stream {
            instance = *self.stream_home.entry(stream).or_insert(instance);
        }
        let dst_len = usize::from(bytes.next()) * usize::from(bytes.next() % 33);
        let cut = match bytes.next() {
            byte @ 0..64 => Some(usize::from(byte)),
            _ => None,
        };
        let mut lent = Lent::new(instance, bytes.data(), dst_len);
        let tag = self.next_tag;
        self.next_tag += 1;
        let mut request = lent.request(cut);
        request.tag = tag;
        request.op = bytes.number(4);
        request.flush = bytes.number(4);
        request.session = session.map_or(null_mut(), |(session, _)| session);
        request.stream = stream.unwrap_or(null_mut());
        let mut within_ns = None;
        match bytes.next() {
            7 => request.reserved[1] = 1,
            byte @ 8..72 => {
                // From one that is over at once to one of a fifth of a second.
                within_ns = Some(u64::from(byte - 8) * u64::from(byte - 8) * 50_000);
                lent.has_deadline = true;
            }
            _ => {}
        }
        // SAFETY: live objects; buffers that stay until the response or the close.
        let (free, status) = unsafe {
            let free = la_instance_free_slots(instance);
            match within_ns {
                None => (free, la_instance_push(instance, &request)),
                Some(time_ns) => (free, la_instance_push_within(instance, &request, time_ns)),
            }
        };
        match status {
            LA_OK => {
                assert!(free > 0, "pushed where nothing was free");
                self.outstanding.insert(tag, lent);
            }
            LA_E_FULL => assert_eq!(free, 0, "full, with free slots"),
            LA_E_INVALID | LA_E_LIMIT | LA_E_UNSUPPORTED => lent.check_memory(),
            other => panic!("push: {other}"),
        }
    }

    /// Cancels a request of the instance, or one that it does not have.
    fn cancel(&mut self, bytes: &mut Bytes<'_>) {
        let Some(instance) = bytes.pick(&self.instances) else { return };
        let tag = self.next_tag.saturating_sub(u64::from(bytes.next() % 16));
        // SAFETY: a live instance.
        let cancelled = unsafe { la_instance_cancel(instance, tag) };
        match self.outstanding.get_mut(&tag).filter(|lent| lent.instance == instance) {
            Some(lent) => match cancelled {
                0 => {}
                1 => lent.cancelled = true,
                other => panic!("cancel: {other}"),
            },
            None => assert_eq!(cancelled, 0, "nothing has this tag"),
        }
    }

    fn doorbell(&mut self, bytes: &mut Bytes<'_>) {
        let Some(instance) = bytes.pick(&self.instances) else { return };
        // SAFETY: a live instance.
        let rung = unsafe { la_instance_doorbell(instance) };
        assert!((0..=self.count(instance)).contains(&rung), "{rung}");
    }

    fn poll_some(&mut self, bytes: &mut Bytes<'_>) {
        let Some(instance) = bytes.pick(&self.instances) else { return };
        self.poll(instance, usize::from(bytes.next() % 10));
    }

    /// Takes up to `n` responses and checks each.
    fn poll(&mut self, instance: Instance, n: usize) -> usize {
        let mut responses = vec![Response::default(); n];
        // SAFETY: a live instance, and room for `n` responses.
        let taken = unsafe { la_instance_poll(instance, responses.as_mut_ptr(), n) };
        assert!((0..=n as c_int).contains(&taken), "poll: {taken} of {n}");
        for response in &responses[..taken as usize] {
            let lent = self.outstanding.remove(&response.tag).expect("an answer to nothing");
            assert!(lent.instance == instance, "an answer on another instance");
            lent.check(response);
        }
        // SAFETY: a live instance.
        let outstanding = unsafe { la_instance_outstanding(instance) };
        assert_eq!(outstanding, self.count(instance));
        taken as usize
    }

    fn count(&self, instance: Instance) -> c_int {
        self.outstanding.values().filter(|lent| lent.instance == instance).count() as c_int
    }

    fn wait(&mut self, bytes: &mut Bytes<'_>) {
        let Some(instance) = bytes.pick(&self.instances) else { return };
        let timeout_ns = u64::from(bytes.next()) * 1000;
        // SAFETY: a live instance.
        let there = unsafe { la_instance_wait(instance, bytes.next().into(), timeout_ns) };
        assert!(there == 0 || there == 1 && self.count(instance) > 0, "wait: {there}");
    }

    /// Blocking calls: a copy is the same; so is what was compressed, decompressed.
    fn call(&mut self, bytes: &mut Bytes<'_>) {
        let Some((session, copies)) = bytes.pick(&self.sessions) else { return };
        let data = bytes.data();
        // SAFETY: a live session.
        let bound = unsafe { la_session_bound(session, data.len()) };
        assert!(bound >= data.len());
        if copies {
            assert!(self.call_once(session, COMPRESS, &data, bound).is_none());
            let (response, copy) = self.call_once(session, COPY, &data, bound).expect("a copy");
            assert_eq!((response.status, response.consumed), (LA_OK, data.len()));
            assert_eq!(copy, data);
            return;
        }
        let (there, packed) = self.call_once(session, COMPRESS, &data, bound).expect("an answer");
        assert_eq!((there.status, there.consumed), (LA_END, data.len()));
        let (back, unpacked) =
            self.call_once(session, DECOMPRESS, &packed, data.len()).expect("an answer");
        assert_eq!((back.status, back.consumed), (LA_END, packed.len()));
        assert_eq!(back.checksum, there.checksum);
        assert_eq!(unpacked, data);
    }

    fn call_once(
        &self,
        session: Session,
        op: i32,
        src: &[u8],
        dst_len: usize,
    ) -> Option<(Response, Vec<u8>)> {
        let mut lent = Lent::new(null_mut(), src.to_vec(), dst_len);
        let mut request = lent.request(None);
        (request.op, request.session) = (op, session);
        let mut response = Response::default();
        // SAFETY: live objects; buffers that stay for the call.
        let status = unsafe { la_call(self.runtime, &request, &mut response) };
        if status != LA_OK {
            assert_eq!(status, LA_E_INVALID);
            lent.check_memory();
            return None;
        }
        lent.check(&response);
        Some((response, lent.dst[GUARD..GUARD + response.produced].to_vec()))
    }

    fn close(&mut self, bytes: &mut Bytes<'_>) {
        let index = usize::from(bytes.next());
        match bytes.next() % 3 {
            0 if !self.instances.is_empty() => {
                let instance = self.instances.swap_remove(index % self.instances.len());
                self.close_instance(instance);
            }
            1 if !self.sessions.is_empty() => {
                let (session, _) = self.sessions.swap_remove(index % self.sessions.len());
                // SAFETY: a live session, not used again.
                assert_eq!(unsafe { la_session_free(session) }, LA_OK);
            }
            2 if !self.streams.is_empty() => {
                let stream = self.streams.swap_remove(index % self.streams.len());
                self.stream_home.remove(&stream);
                // SAFETY: a live stream, not used again.
                assert_eq!(unsafe { la_stream_free(stream) }, LA_OK);
            }
            _ => {}
        }
    }

    fn close_instance(&mut self, instance: Instance) {
        // SAFETY: a live instance, not used again.
        assert_eq!(unsafe { la_instance_close(instance) }, LA_OK);
        // The buffers are ours again: nobody may write to them any more, nor have written wrongly.
        self.outstanding.retain(|_, lent| {
            if lent.instance == instance {
                lent.check_memory();
            }
            lent.instance != instance
        });
        // With nothing outstanding, its streams may go on elsewhere.
        self.stream_home.retain(|_, home| *home != instance);
    }

    /// Calls that only read.
    fn look(&mut self, bytes: &mut Bytes<'_>) {
        let rows = usize::from(bytes.next() % 8);
        // As numbers, since a structure of numbers has their alignment.
        let mut table = vec![0u64; rows * COUNTERS_BYTES / 8];
        let mut not_run = 0;
        // SAFETY: a live runtime, room for so many rows and a number, and any status.
        unsafe {
            let table = table.as_mut_ptr().cast();
            assert!(la_counters_read(self.runtime, table, rows, &mut not_run) >= 0);
            assert!(!CStr::from_ptr(la_strerror(bytes.number(8))).is_empty());
            let _ = CStr::from_ptr(la_last_error()).to_str().expect("text");
        }
        if let Some(instance) = bytes.pick(&self.instances) {
            // SAFETY: a live instance.
            assert!(unsafe { la_instance_event_fd(instance) } >= 0);
        }
    }

    /// What the header answers with `LA_E_INVALID`.
    fn break_the_contract(&mut self, bytes: &mut Bytes<'_>) {
        let runtime = self.runtime;
        let (wrong_instance, wrong_session): (Instance, Session) = match bytes.next() % 3 {
            0 => (null_mut(), null_mut()),
            1 => (runtime.cast(), runtime.cast()),
            _ => {
                let misaligned = runtime.cast::<u8>().wrapping_add(1);
                (misaligned.cast(), misaligned.cast())
            }
        };
        // SAFETY: null, misaligned, or an object of another kind, which the header says is told.
        let status = unsafe {
            match bytes.next() % 12 {
                0 => la_instance_push(wrong_instance, null()),
                1 => la_instance_doorbell(wrong_instance),
                2 => la_instance_poll(wrong_instance, null_mut(), 1),
                3 => la_instance_wait(wrong_instance, 1, 0),
                4 => la_instance_close(wrong_instance),
                5 => la_session_free(wrong_session),
                6 => la_instance_event_fd(wrong_instance),
                7 => la_call(runtime, null(), null_mut()),
                8 => la_runtime_stop(null_mut()),
                9 => la_instance_push_within(wrong_instance, null(), 0),
                10 => la_instance_cancel(wrong_instance, 1),
                _ => la_copy_session(runtime, null_mut()),
            }
        };
        assert_eq!(status, LA_E_INVALID);
    }

    /// Everything outstanding is answered; then all is given back, the runtime somewhere between.
    fn finish(mut self) {
        for instance in self.instances.clone() {
            let count = self.count(instance);
            if count == 0 {
                continue;
            }
            // SAFETY: a live instance.
            let there = unsafe { la_instance_wait(instance, count as usize, PATIENCE_NS) };
            assert_eq!(there, 1, "{count} requests are not answered");
            assert_eq!(self.poll(instance, count as usize), count as usize);
        }
        assert!(self.outstanding.is_empty());
        // SAFETY: each a live object, not used again; instances keep alive what they need.
        unsafe {
            assert_eq!(la_runtime_stop(self.runtime), LA_OK);
            for (session, _) in self.sessions.drain(..) {
                assert_eq!(la_session_free(session), LA_OK);
            }
            for stream in self.streams.drain(..) {
                assert_eq!(la_stream_free(stream), LA_OK);
            }
            for instance in self.instances.drain(..) {
                assert_eq!(la_instance_close(instance), LA_OK);
            }
        }
    }
}

/// Whether a function made an object; if not, it has said so properly.
fn opened<const KIND: char>(status: c_int, object: *mut Opaque<KIND>) -> bool {
    if status == LA_OK {
        assert!(!object.is_null());
        return true;
    }
    assert!(object.is_null(), "an object with status {status}");
    assert!([LA_E_INVALID, LA_E_LIMIT, LA_E_UNSUPPORTED].contains(&status), "{status}");
    false
}
