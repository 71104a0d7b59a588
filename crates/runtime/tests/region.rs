//! Memory that is registered once, and devices that reach no other.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use lookaside::{
    Aead, Aside, Buf, Capability, Channel, Compression, Device, EngineId, Feed, Format,
    InstanceConfig, Limits, Memory, Op, Packet, Prepared, Reach, Region, Runtime, Segment,
    SessionSpec, SetupError, SharedMemory, Span,
};
use lookaside_cpu::{CpuDevice, cpu};

/// The CPU device as one that must be told of memory.
struct Card {
    inner: CpuDevice,
    known: Arc<AtomicU32>,
    most: u32,
}

impl Device for Card {
    fn name(&self) -> &str {
        "card"
    }
    fn capabilities(&self) -> &[Capability] {
        self.inner.capabilities()
    }
    fn limits(&self) -> Limits {
        Limits { reach: Reach::Regions, ..self.inner.limits() }
    }
    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        self.inner.prepare(spec)
    }
    fn attach(&self, region: &Region) -> Result<(), SetupError> {
        assert!(region.memory().fd().is_some() && region.memory().iova().is_none());
        let (what, given, max) = ("regions", u64::from(self.known.load(Ordering::Relaxed)) + 1, 2);
        SetupError::check(what, given, 0..=max.min(u64::from(self.most)))?;
        self.known.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    fn open_channel(&self, engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        self.inner.open_channel(engine)
    }
}

fn runtime(engines: usize) -> (Runtime, Arc<AtomicU32>) {
    let known = Arc::<AtomicU32>::default();
    let card = Card { inner: cpu(), known: known.clone(), most: 2 };
    let builder = Runtime::builder().device(card).device(cpu()).engines(engines);
    (builder.start().unwrap(), known)
}

fn served(runtime: &Runtime, op: Op) -> (u64, u64) {
    let counters = runtime.counters();
    let of = |device| counters.row(device, op).map_or(0, |row| row.requests);
    (of("card"), of("cpu"))
}

/// The bytes of a region, while no buffer in it lives.
fn bytes(region: &Region) -> &[u8] {
    let memory = region.memory();
    // SAFETY: as `Memory` promises.
    unsafe { core::slice::from_raw_parts(memory.base().as_ptr(), memory.len()) }
}

fn buf(region: &Region, range: core::ops::Range<usize>) -> Buf {
    // SAFETY: the tests look at the bytes when no buffer lives.
    unsafe { region.buf(range) }.unwrap()
}

#[test]
fn a_device_gets_what_it_reaches() {
    for engines in [0, 1] {
        let (runtime, known) = runtime(engines);
        let region = runtime.region(SharedMemory::new(10_000).unwrap()).unwrap();
        assert_eq!(known.load(Ordering::Relaxed), 1);
        let mover = runtime.mover().unwrap();
        let call = |request| runtime.handle().call(request).wait();
        call(mover.fill(buf(&region, 0..1), buf(&region, 0..100))).result.unwrap();
        assert_eq!(served(&runtime, Op::Fill), (1, 0));

        let copy = |src, dst| call(mover.copy(src, dst)).result.unwrap().produced;
        assert_eq!(copy(buf(&region, 0..100), buf(&region, 200..300)), 100);
        assert_eq!(served(&runtime, Op::Copy), (1, 0));
        // From the heap, to the heap, and a list with one segment there.
        copy(Buf::from(vec![7; 50]), buf(&region, 0..50));
        copy(buf(&region, 0..50), Buf::zeroed(50));
        let list = Buf::list(vec![buf(&region, 300..310), Buf::zeroed(90)]);
        copy(buf(&region, 0..100), list);
        assert_eq!(served(&runtime, Op::Copy), (1, 3));
        let list = Buf::list(vec![buf(&region, 300..310), buf(&region, 320..410)]);
        copy(buf(&region, 0..100), list);
        assert_eq!(served(&runtime, Op::Copy), (2, 3));
        assert_eq!(bytes(&region)[..50], [7; 50]);
        assert_eq!(bytes(&region)[300..310], [7; 10]);
        assert_eq!(bytes(&region)[320..360], [7; 40]);

        // A tag elsewhere.
        let gcm = runtime.aead(Aead::AesGcm, &[1; 16], 16).unwrap();
        let packet = Packet { iv: [2; 12].into(), cipher: Span::new(0, 100), ..Packet::default() };
        let seal = |tag: Buf| {
            let aside = Aside { packet, aad: Buf::empty(), tag };
            call(gcm.seal(aside, Buf::empty(), buf(&region, 1000..1100))).result.unwrap();
        };
        seal(Buf::zeroed(16));
        assert_eq!(served(&runtime, Op::Seal), (0, 1));
        seal(buf(&region, 1200..1216));
        assert_eq!(served(&runtime, Op::Seal), (1, 1));
    }
}

/// Each step of a chain goes where its memory is reached.
#[test]
fn steps_of_a_chain() {
    let (runtime, _) = runtime(1);
    let region = runtime.region(SharedMemory::new(10_000).unwrap()).unwrap();
    let gzip = runtime.compression(Compression::new(Format::Gzip)).unwrap();
    let mover = runtime.mover().unwrap();
    let first = gzip.compress(buf(&region, 0..4000), buf(&region, 4000..9000));
    let second = mover.copy(Buf::empty(), Buf::zeroed(5000));
    let chain = first.then(Feed::Written, second).unwrap();
    let mut r = runtime.handle().call(chain).wait();
    let produced = r.result.unwrap().produced;
    assert_eq!(served(&runtime, Op::Compress), (1, 0));
    assert_eq!(served(&runtime, Op::Copy), (0, 1));
    let copied = core::mem::take(&mut r.dst).into_vec();
    drop(r);
    assert!(copied[..produced] == bytes(&region)[4000..4000 + produced]);
}

/// What another process sees: the same memory at another address, named by a plain record.
#[test]
fn records_name_memory_that_is_mapped_twice() {
    let (runtime, _) = runtime(0);
    let memory = SharedMemory::new(8192).unwrap();
    let fd: OwnedFd = memory.fd().unwrap().try_clone_to_owned().unwrap();
    let here = runtime.region(memory).unwrap();
    let there = Region::new(SharedMemory::map(fd).unwrap());
    assert_ne!(here.memory().base(), there.memory().base());
    assert_ne!(here.id(), there.id());

    let mover = runtime.mover().unwrap();
    let (src, dst) = (buf(&here, 0..1000), buf(&here, 5000..6000));
    let record = dst.segment().unwrap();
    assert_eq!(record, Segment { region: here.id(), len: 1000, offset: 5000 });
    assert_eq!((size_of::<Segment>(), align_of::<Segment>()), (16, 8));
    let fill = mover.fill(Buf::from(vec![1, 2, 3, 4]), src);
    assert!(runtime.handle().call(fill).wait().result.is_ok());
    let copy = mover.copy(buf(&here, 0..1000), dst);
    assert!(runtime.handle().call(copy).wait().result.is_ok());
    // The other side has its own number for it.
    // SAFETY: nobody writes.
    let found = unsafe { there.resolve(Segment { region: there.id(), ..record }) }.unwrap();
    assert_eq!(found.as_slice().unwrap(), [1, 2, 3, 4].repeat(250));
    assert!(found.is_lent() && found.is_writable() && found.is_in_regions());
    assert!(Buf::zeroed(8).segment().is_none() && !Buf::zeroed(8).is_in_regions());

    // A record of another process may say anything.
    for bad in [
        Segment { region: here.id(), ..record },
        Segment { region: there.id(), len: 1000, offset: 7193 },
        Segment { region: there.id(), len: u32::MAX, offset: 0 },
        Segment { region: there.id(), len: 1, offset: u64::MAX },
    ] {
        // SAFETY: none is made.
        assert!(unsafe { there.resolve(bad) }.is_err(), "{bad:?}");
    }
    // SAFETY: as above.
    #[expect(clippy::reversed_empty_ranges, reason = "that is the mistake")]
    let backwards = unsafe { there.buf(10..9) };
    assert!(backwards.is_err());
}

#[test]
fn regions_that_are_refused() {
    let known = Arc::<AtomicU32>::default();
    let card = Card { inner: cpu(), known, most: 1 };
    let runtime = Runtime::builder().device(card).engines(0).start().unwrap();
    runtime.region(SharedMemory::new(1).unwrap()).unwrap();
    let second = runtime.region(SharedMemory::new(1).unwrap());
    assert!(matches!(second, Err(SetupError::Limit { what: "regions", .. })));
    assert!(matches!(SharedMemory::new(0), Err(SetupError::Limit { .. })));
    // A file that its owner may cut short.
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert!(matches!(SharedMemory::map(file.into()), Err(SetupError::Os { .. })));
    // No device is left for other memory: its last resort is not one.
    let mover = runtime.mover().unwrap();
    let r = runtime.handle().call(mover.copy(Buf::zeroed(1), Buf::zeroed(1))).wait();
    assert_eq!(r.result, Err(lookaside::OpError::Unsupported));
}

/// A buffer outlives the handle of its region; what is lent is waited for.
#[test]
fn memory_stays_as_long_as_buffers() {
    let (runtime, _) = runtime(1);
    let region = runtime.region(SharedMemory::new(1 << 20).unwrap()).unwrap();
    let gzip = runtime.compression(Compression::new(Format::Gzip).level(9)).unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    instance
        .push(gzip.compress(buf(&region, 0..500_000), buf(&region, 500_000..1_000_000)))
        .unwrap();
    drop(region);
    instance.doorbell();
    drop(instance);
    assert_eq!(served(&runtime, Op::Compress).1, 0);
}
