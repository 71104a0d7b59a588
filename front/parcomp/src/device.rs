//! The provider `lookaside` (the paper's `qat`): asynchronous underneath (paper 1 section 8.3.2).

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use lookaside::{
    Buf, Checksum, CompressSession, Compression, Counters, DecompressStream, Flush, Huffman,
    Instance, InstanceConfig, Op, OpError, Response, Runtime, Status, compress_bound,
};
use lookaside_model::{Model, Spec};
use lookaside_qat_card::{QatDevice, Settings};
use lookaside_shared::SharedDevice;
use rustix::event::{PollFd, PollFlags};

use crate::{
    error::Error,
    ffi::Lending,
    lz4,
    params::{Doorbell, Format, Params, Wait},
    provider::{Chunk, Direction, Lane, LaneSpec, Memory, Outcome, Own, Provider, Task, TaskError},
    serial::{Inflater, Piece},
};

/// What distinguishes one runtime from another.
#[derive(Clone, PartialEq, Eq)]
struct Setup {
    engines: usize,
    cores: Vec<usize>,
}

/// The Lookaside device: up to [`Params::jobs`] requests in flight from each thread.
///
/// Engines start at the first call and are kept for later calls with as many engines on the same
/// cores.
pub struct Lookaside {
    name: String,
    model: Option<Spec>,
    card: Option<Settings>,
    runtimes: Mutex<Vec<(Setup, Arc<Runtime>)>>,
}

impl Lookaside {
    /// Engine sets that are kept at most; the oldest ends first.
    const KEPT: usize = 4;

    /// A device of its own; [`crate::provider()`] gives the shared one.
    pub fn new() -> Lookaside {
        Lookaside { name: "lookaside".into(), model: None, card: None, runtimes: Mutex::default() }
    }

    /// A provider of this name, whose device has the speed of a model and is executed by the CPU device. Of
    /// the model, compression and decompression count.
    pub fn modelled(name: impl Into<String>, mut spec: Spec) -> Lookaside {
        for section in &mut spec.sections {
            section.ops.retain(|op| matches!(op, Op::Compress | Op::Decompress));
        }
        spec.sections.retain(|section| !section.ops.is_empty());
        Lookaside { name: name.into(), model: Some(spec), card: None, runtimes: Mutex::default() }
    }

    /// A provider of this name, by a card; what that does not do, the CPU device does.
    ///
    /// # Errors
    /// [`Error::Card`] where there is none.
    pub fn by_card(name: impl Into<String>, card: Settings) -> Result<Lookaside, Error> {
        // Once it is there it stays: the runtimes that start later have the same.
        QatDevice::new(card.clone()).map_err(Error::Card)?;
        Ok(Lookaside {
            name: name.into(),
            model: None,
            card: Some(card),
            runtimes: Mutex::default(),
        })
    }

    fn runtime(&self, params: &Params) -> Result<Arc<Runtime>, Error> {
        let setup = Setup { engines: params.engines(), cores: params.cores() };
        let mut kept = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, runtime)) = kept.iter().find(|(s, _)| *s == setup) {
            return Ok(runtime.clone());
        }
        let builder = match (&self.model, &self.card) {
            (Some(spec), _) => {
                Runtime::builder().device(Model::new(lookaside_cpu::cpu(), spec.clone())?)
            }
            (None, Some(card)) => {
                let card = QatDevice::new(card.clone()).map_err(Error::Card)?;
                Runtime::builder().device(card).device(lookaside_cpu::cpu())
            }
            (None, None) => match SharedDevice::drop_in() {
                Some(shared) => Runtime::builder().device(shared).device(lookaside_cpu::cpu()),
                None => Runtime::builder().device(lookaside_cpu::cpu()),
            },
        };
        let builder = builder.engines(setup.engines);
        let runtime = Arc::new(builder.pin_to(&setup.cores).start()?);
        if kept.len() == Self::KEPT {
            kept.remove(0);
        }
        kept.push((setup, runtime.clone()));
        Ok(runtime)
    }
}

impl Default for Lookaside {
    fn default() -> Lookaside {
        Lookaside::new()
    }
}

/// What the device is asked for.
fn compression(params: &Params, spec: LaneSpec) -> Compression {
    let compress = spec.direction == Direction::Compress;
    Compression {
        format: match spec.format {
            Format::Gzip if !compress => lookaside::Format::Gzip,
            Format::Lz4 => lookaside::Format::Lz4Blocks,
            Format::Zstd => lookaside::Format::Zstd,
            _ => lookaside::Format::Raw,
        },
        block_bits: lz4::block_bits(params.chunk_size),
        level: params.level,
        huffman: if params.static_huffman { Huffman::Static } else { Huffman::Dynamic },
        window_bits: params.window_bits,
        checksum: match spec.format {
            Format::Gzip => Checksum::Crc32,
            Format::Zlib if compress => Checksum::Adler32,
            Format::Raw if compress => Checksum::Crc32,
            _ => Checksum::None,
        },
        ..Compression::default()
    }
}

impl Provider for Lookaside {
    fn name(&self) -> &str {
        &self.name
    }

    fn depth(&self, params: &Params) -> usize {
        params.jobs()
    }

    /// Never exceeded. Five bytes more are the flush marker of a piece of DEFLATE.
    fn bound(&self, params: &Params, len: usize) -> usize {
        match params.format {
            Format::Lz4 => compress_bound(lookaside::Format::Lz4Blocks, len),
            Format::Zstd => compress_bound(lookaside::Format::Zstd, len),
            _ => compress_bound(lookaside::Format::Raw, len) + 5,
        }
    }

    fn open<'a>(&self, params: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
        let runtime = self.runtime(params)?;
        let session = runtime.compression(compression(params, spec))?;
        let depth = self.depth(params);
        let instance = runtime.instance(InstanceConfig { depth, ..InstanceConfig::default() })?;
        let flush = match (spec.direction, spec.format) {
            (Direction::Compress, Format::Zlib | Format::Raw) => Flush::Full,
            _ => Flush::Finish,
        };
        Ok(Box::new(DeviceLane {
            instance: Lending::new(instance),
            session,
            direction: spec.direction,
            flush,
            slots: (0..depth).map(|_| Slot::default()).collect(),
            free: (0..depth).rev().collect(),
            unrung: 0,
            ring_at: match params.doorbell {
                Doorbell::Request => 1,
                // Not only when the ring is full: the engines start while the rest is being read.
                Doorbell::Batch => (depth / 4).max(1),
            },
            wait: params.wait,
        }))
    }

    fn borrows(&self, _: Own) -> bool {
        true
    }

    fn open_stream(
        &self,
        params: &Params,
        format: Format,
    ) -> Result<Option<Box<dyn Inflater>>, Error> {
        let runtime = self.runtime(params)?;
        let wrapper = match format {
            Format::Gzip => lookaside::Format::Gzip,
            Format::Zlib => lookaside::Format::Zlib,
            Format::Raw | Format::Cf => lookaside::Format::Raw,
            Format::Lz4 => lookaside::Format::Lz4,
            Format::Zstd => lookaside::Format::Zstd,
        };
        let stream = runtime.decompress_stream(wrapper, None)?;
        let instance =
            runtime.instance(InstanceConfig { depth: 1, ..InstanceConfig::default() })?;
        let waiting = None;
        Ok(Some(Box::new(DeviceStream { runtime, wrapper, instance, stream, waiting })))
    }

    fn has_device(&self) -> bool {
        true
    }

    fn model(&self) -> Option<&Spec> {
        self.model.as_ref()
    }

    fn counters(&self) -> Option<Counters> {
        let kept = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = Counters::default();
        for (_, runtime) in kept.iter() {
            let c = runtime.counters();
            sum.ops.extend(c.ops.into_iter().filter(|row| row.requests > 0));
            sum.not_run += c.not_run;
        }
        Some(sum)
    }
}

#[derive(Default)]
struct Slot<'a> {
    seq: u64,
    /// The source, when the caller lent it.
    lent: Option<&'a [u8]>,
}

struct DeviceLane<'a> {
    instance: Lending<'a>,
    session: CompressSession,
    direction: Direction,
    flush: Flush,
    /// What is outstanding, by the request's tag.
    slots: Vec<Slot<'a>>,
    free: Vec<usize>,
    /// Requests pushed since the last doorbell.
    unrung: usize,
    /// Ring when so many are.
    ring_at: usize,
    wait: Wait,
}

fn task_error(e: OpError) -> TaskError {
    match e {
        OpError::DstTooSmall => TaskError::DstTooSmall,
        OpError::BadData { offset, reason } => TaskError::BadData { offset, reason },
        other => TaskError::Failed(other.to_string()),
    }
}

fn lost(what: &str) -> Error {
    Error::Provider { provider: "lookaside".into(), what: what.into() }
}

impl<'a> DeviceLane<'a> {
    fn take(slots: &mut [Slot<'a>], free: &mut Vec<usize>, response: Response) -> Option<Task<'a>> {
        let tag = usize::try_from(response.tag).ok()?;
        let slot = core::mem::take(slots.get_mut(tag)?);
        free.push(tag);
        let src = match slot.lent {
            Some(lent) => Chunk(Memory::Lent(lent)),
            None => Chunk(Memory::Owned(response.src.into_vec())),
        };
        let outcome = response.result.map_err(task_error).map(|d| Outcome {
            consumed: d.consumed,
            produced: d.produced,
            checksum: d.checksum as u32,
        });
        Some(Task { seq: slot.seq, src, dst: response.dst.into_vec(), outcome })
    }
}

impl<'a> Lane<'a> for DeviceLane<'a> {
    fn submit(&mut self, task: Task<'a>) -> Result<(), Error> {
        let Task { seq, src, dst, .. } = task;
        let tag = self.free.pop().ok_or_else(|| lost("more tasks than the ring holds"))?;
        let slot = &mut self.slots[tag];
        slot.seq = seq;
        let (session, dst) = (&self.session, Buf::from(dst));
        let mut request = match src.0 {
            Memory::Lent(lent) => {
                slot.lent = Some(lent);
                self.instance.request(session, self.direction, lent, dst)
            }
            Memory::Owned(v) => match self.direction {
                Direction::Compress => session.compress(v.into(), dst),
                Direction::Decompress => session.decompress(v.into(), dst),
            },
        };
        if self.direction == Direction::Compress {
            request.args.flush = self.flush;
        }
        let request = request.tag(tag as u64);
        self.instance.instance().push(request).map_err(|_| lost("the ring is full"))?;
        self.unrung += 1;
        if self.unrung >= self.ring_at {
            self.ring();
        }
        Ok(())
    }

    fn ring(&mut self) {
        if self.unrung > 0 {
            self.instance.instance().doorbell();
            self.unrung = 0;
        }
    }

    fn complete(&mut self, done: &mut Vec<Task<'a>>) -> Result<(), Error> {
        self.ring();
        let before = done.len();
        loop {
            for response in self.instance.poll() {
                done.extend(Self::take(&mut self.slots, &mut self.free, response));
            }
            let instance = self.instance.instance();
            let outstanding = instance.outstanding();
            if done.len() > before || outstanding == 0 {
                return Ok(());
            }
            match self.wait {
                Wait::Block => {
                    instance.wait_many(outstanding.div_ceil(2), Duration::from_secs(1));
                }
                Wait::Poll => thread::yield_now(),
                Wait::Event => {
                    let fd = instance.event_fd()?;
                    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
                    let polled = rustix::event::poll(&mut fds, None);
                    if let Err(e) = polled
                        && e != rustix::io::Errno::INTR
                    {
                        return Err(Error::io("poll", e.into()));
                    }
                }
            }
        }
    }
}

/// One stream that arrives in pieces, on an instance of its own.
struct DeviceStream {
    runtime: Arc<Runtime>,
    wrapper: lookaside::Format,
    instance: Instance,
    stream: DecompressStream,
    /// The piece that is in flight, without its destination.
    waiting: Option<Piece>,
}

impl Inflater for DeviceStream {
    fn submit(&mut self, mut piece: Piece) -> Result<(), Error> {
        let dst = Buf::from(core::mem::take(&mut piece.dst));
        let src = Buf::shared(piece.src.clone(), piece.start..piece.src.len());
        let request = self.stream.decompress(src, dst);
        self.instance.push(request).map_err(|_| lost("the ring is full"))?;
        self.instance.doorbell();
        self.waiting = Some(piece);
        Ok(())
    }

    fn wait(&mut self) -> Result<Piece, Error> {
        let mut piece = self.waiting.take().ok_or_else(|| lost("nothing was submitted"))?;
        let response = loop {
            if let Some(response) = self.instance.poll().next() {
                break response;
            }
            self.instance.wait(Duration::from_secs(1));
        };
        piece.dst = response.dst.into_vec();
        piece.outcome = match response.result {
            Ok(d) => Ok((d.consumed, d.produced, d.status == Status::End)),
            Err(e) => Err(task_error(e)),
        };
        Ok(piece)
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.stream = self.runtime.decompress_stream(self.wrapper, None)?;
        Ok(())
    }
}
