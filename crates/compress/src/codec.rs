//! Whole buffers: one call, one stream or member.

use lookaside_simd::Cpu;

use crate::checksum::{RunningChecksum, checksum};
use crate::format::{self, HeaderParser};
use crate::kernel::inflate::{Inflate, Place, Until};
use crate::kernel::last_block::LastBlock;
use crate::kernel::{
    self, Choice, Kernel, StreamKernel, chains, deflate, isal, libdeflate, stored, zlib_rs,
};
use crate::{lz4, zstd};
use lookaside_spec::dc::Flush;
use lookaside_spec::dc::compress_bound;
use lookaside_spec::dc::{Compression, CompressionError, Format};
use lookaside_spec::{BadReason, Done, OpError, Status};

/// So much is decoded before its checksum is taken: what is in the cache still.
const SUMMED_AT_ONCE: usize = 128 * 1024;

/// A [`Compression`] with its kernels: immutable, shared by any number of threads.
///
/// Compressing and decompressing need a [`Scratch`], one per thread. See the crate's example.
#[derive(Clone, Debug)]
pub struct Codec {
    spec: Compression,
    kernels: Choice,
    cpu: Cpu,
}

/// The reusable memory of the kernels: one per thread, for any number of codecs.
///
/// Starts empty; each kernel and level allocates at its first use: our own 0.7 MB (levels 1 to 3) and 1.1 MB (4 and 5); igzip 0.25 MB; libdeflate 0.2 MB
/// at its level 1, 0.7 MB up to 9, 9 MB from 10 on, 22 KB for pieces; decoding 55 KB; zlib-rs
/// 0.4 MB; LZ4 16 KB at level 1 and 0.3 MB at others; Zstandard 1 to 30 MB, by level and length of the source (what
/// is larger is freed after each call), and 0.2 MB to decode; LZ4's levels 10 to 12 take 64 KB for each block and give
/// them back. After that nothing allocates but this: where
/// `dst` is tighter than [`Codec::bound`] and the result hardly fits, and for LZ4s, memory for the result.
#[derive(Default)]
pub struct Scratch {
    own: Option<Box<deflate::Compressor>>,
    chains: Option<chains::Compressor>,
    igzip: Option<isal::OneShot>,
    libdeflate: [Option<libdeflate::Compressor>; 13],
    inflate: Option<Box<Inflate>>,
    zlib_rs: Option<zlib_rs::Compressor>,
    last_block: Option<LastBlock>,
    piece: Option<(Kernel, u8, StreamKernel)>,
    spill: Vec<u8>,
    lz4: lz4::Scratch,
    zstd: zstd::Scratch,
}

/// What a streaming kernel may want beyond the largest useful result: a flush marker, and the 512
/// bytes below which it is not asked directly.
const PIECE_SLACK: usize = 1024;

impl Scratch {
    /// Allocates nothing yet.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// A fresh stream by this kernel; made anew when the one before was by another.
    fn piece(&mut self, kernel: Kernel, window_bits: u8) -> &mut StreamKernel {
        if !matches!(&self.piece, Some((k, w, _)) if (*k, *w) == (kernel, window_bits)) {
            self.piece = None;
        }
        let (_, _, stream) = self
            .piece
            .get_or_insert_with(|| (kernel, window_bits, StreamKernel::new(kernel, window_bits)));
        stream.reset();
        stream
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

impl Codec {
    /// Chooses the kernels for `spec` on `cpu`. Does not allocate.
    pub fn new(spec: &Compression, cpu: &Cpu) -> Result<Codec, CompressionError> {
        spec.validate()?;
        Ok(Codec { spec: spec.clone(), kernels: kernel::choose(spec, cpu), cpu: cpu.clone() })
    }

    /// The same with a given compressor of DEFLATE in place of the chosen one: for benches and tests.
    ///
    /// [`CompressionError::Kernel`] if it does not exist on `cpu` or codes otherwise than `spec` asks.
    /// libdeflate has neither streams nor small windows: the chosen kernel serves those.
    pub fn with_kernel(
        spec: &Compression,
        cpu: &Cpu,
        kernel: Kernel,
    ) -> Result<Codec, CompressionError> {
        spec.validate()?;
        let kernels = kernel::only(spec, cpu, kernel).filter(|_| spec.format.is_deflate());
        let kernels = kernels.ok_or(CompressionError::Kernel(kernel.name()))?;
        Ok(Codec { spec: spec.clone(), kernels, cpu: cpu.clone() })
    }

    /// What it was made from.
    pub fn spec(&self) -> &Compression {
        &self.spec
    }

    /// The kernel that compresses whole buffers and pieces, e.g. `igzip-1`.
    pub fn compress_kernel(&self) -> &'static str {
        kernel::library(&self.spec).unwrap_or_else(|| self.kernels.whole.name())
    }

    /// The kernel that compresses streams (and whole buffers larger than a window below 32 KB).
    pub fn compress_stream_kernel(&self) -> &'static str {
        kernel::library(&self.spec).unwrap_or_else(|| self.kernels.stream.name())
    }

    /// The kernel that decompresses whole buffers.
    pub fn decompress_kernel(&self) -> &'static str {
        match self.spec.format {
            Format::Raw | Format::Zlib | Format::Gzip => "inflate",
            Format::Lz4Raw | Format::Lz4Blocks | Format::Lz4 => "lz4",
            Format::Lz4s => "lookaside",
            Format::Zstd => "zstd",
        }
    }

    /// The kernel that decompresses streams.
    pub fn decompress_stream_kernel(&self) -> &'static str {
        self.decompress_kernel()
    }

    pub(crate) fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    pub(crate) fn stream_kernel(&self) -> Kernel {
        self.kernels.stream
    }

    /// [`compress_bound`] of this format: with a `dst` this long, [`compress`](Codec::compress) cannot
    /// fail.
    pub fn bound(&self, src_len: usize) -> usize {
        compress_bound(self.spec.format, src_len)
    }

    /// Compresses all of `src` into one stream, member, frame or block at the start of `dst`.
    ///
    /// Never larger than [`bound`](Codec::bound): stored blocks take over where a kernel expands.
    /// The result is [`Status::End`] with `consumed == src.len()`. The rest of `dst` is left
    /// alone, or holds garbage up to the bound. Allocates only what [`Scratch`] says.
    ///
    /// Errors: [`OpError::DstTooSmall`]; [`OpError::BadInput`] for what no raw LZ4 block holds;
    /// [`OpError::NoMemory`] and [`OpError::Library`] where a library gets no memory.
    pub fn compress(
        &self,
        scratch: &mut Scratch,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<Done, OpError> {
        match self.spec.format {
            Format::Raw | Format::Zlib | Format::Gzip => self.deflate(scratch, src, dst),
            Format::Zstd => zstd::compress(&self.spec, &mut scratch.zstd, src, dst),
            _ => lz4::compress(&self.spec, &mut scratch.lz4, src, dst),
        }
    }

    fn deflate(&self, scratch: &mut Scratch, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        let header = format::header(&self.spec, None);
        let header = header.as_slice();
        let room = dst.len().saturating_sub(format::overhead(self.spec.format));
        let body = dst.get_mut(header.len()..).ok_or(OpError::DstTooSmall)?;
        let body = body.get_mut(..room).ok_or(OpError::DstTooSmall)?;
        let body_len = self.compress_body(scratch, src, body).ok_or(OpError::DstTooSmall)?;

        let checksum = checksum(self.spec.checksum_in_force(), src);
        let trailer = format::trailer(self.spec.format, checksum as u32, src.len() as u64);
        let trailer = trailer.as_slice();
        let body_end = header.len() + body_len;
        let produced = body_end + trailer.len();
        dst[..header.len()].copy_from_slice(header);
        dst[body_end..produced].copy_from_slice(trailer);
        Ok(Done { consumed: src.len(), produced, checksum, status: Status::End })
    }

    /// Compresses all of `src` into one piece of a raw DEFLATE stream that others make up: blocks
    /// without reference to what came before, none of them final, ending at a byte boundary.
    /// Pieces may be joined in any number, and an empty final block (`03 00`) ends the stream.
    ///
    /// Never larger than [`bound`](Codec::bound), also [`Status::Complete`] with nothing written
    /// for nothing. Level by level the kernels of whole buffers; where that is libdeflate, which
    /// only makes finished streams, the last block is found and opened: at most 5 bytes more than
    /// [`compress`](Codec::compress), and 4 to 8 % of its time. Larger than one stream by what
    /// each piece has to learn anew: at levels 1 / 6 / 9 by 0 to 2 / 2 to 5 / 2 to 6 % for pieces
    /// of 64 KB, up to 0.6 / 1.2 / 1.6 % for 256 KB, 0.3 / 0.6 / 0.8 % for 512 KB and half of that
    /// for 1 MB (bench `pieces`).
    ///
    /// Of [`Format::Lz4Blocks`] every result is a piece.
    ///
    /// Errors: [`OpError::DstTooSmall`]; [`OpError::Unsupported`] if the format is neither raw nor LZ4 blocks.
    pub fn compress_piece(
        &self,
        scratch: &mut Scratch,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<Done, OpError> {
        match self.spec.format {
            Format::Raw => {}
            Format::Lz4Blocks => {
                let done = self.compress(scratch, src, dst)?;
                return Ok(Done { status: Status::Complete, ..done });
            }
            _ => return Err(OpError::Unsupported),
        }
        let produced = match src.len() {
            0 => 0,
            _ => self.piece_body(scratch, src, dst).ok_or(OpError::DstTooSmall)?,
        };
        let checksum = checksum(self.spec.checksum_in_force(), src);
        Ok(Done { consumed: src.len(), produced, checksum, status: Status::Complete })
    }

    fn piece_body(&self, scratch: &mut Scratch, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let kernel = self.kernel_for(src.len());
        let stored = stored::size(src.len());
        // As with whole buffers: room to spare for the kernel, and never more than stored.
        let room = match kernel {
            Kernel::Stored => return stored::compress_piece(src, dst),
            Kernel::Igzip(_) | Kernel::Libdeflate(_) => stored,
            _ => stored + PIECE_SLACK,
        };
        if let Some(out) = dst.get_mut(..room) {
            let produced = scratch.compress_piece(kernel, self, src, out);
            return produced
                .filter(|&produced| produced <= stored)
                .or_else(|| stored::compress_piece(src, dst));
        }
        let mut spill = std::mem::take(&mut scratch.spill);
        if spill.len() < room {
            spill.resize(room, 0);
        }
        let out = &mut spill[..room];
        let produced = scratch.compress_piece(kernel, self, src, out);
        let produced = match produced.filter(|&produced| produced <= stored) {
            Some(produced) => dst.get_mut(..produced).map(|dst| {
                dst.copy_from_slice(&spill[..produced]);
                produced
            }),
            None => stored::compress_piece(src, dst),
        };
        scratch.spill = spill;
        produced
    }

    fn compress_body(&self, scratch: &mut Scratch, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let kernel = self.kernel_for(src.len());
        let stored = stored::size(src.len());
        if kernel == Kernel::Stored {
            return stored::compress(src, dst);
        }
        if dst.len() >= stored {
            // More than stored blocks is of no use, so the kernel may give up there.
            return match scratch.compress(kernel, self, src, &mut dst[..stored]) {
                Some(produced) => Some(produced),
                None => stored::compress(src, dst),
            };
        }
        if let Some(produced) = scratch.compress(kernel, self, src, dst) {
            return Some(produced);
        }
        // Kernels want some bytes more than they use, so a result that just fits is refused.
        // Where the room is as tight as that, find out in memory of our own.
        let mut spill = std::mem::take(&mut scratch.spill);
        if spill.len() < stored {
            spill.resize(stored, 0);
        }
        let produced = scratch
            .compress(kernel, self, src, &mut spill[..stored])
            .filter(|&produced| produced <= dst.len());
        if let Some(produced) = produced {
            dst[..produced].copy_from_slice(&spill[..produced]);
        }
        scratch.spill = spill;
        produced
    }

    fn kernel_for(&self, src_len: usize) -> Kernel {
        // No match can reach out of a window that holds everything.
        let kernel = if self.spec.window_bits == 15 || src_len <= 1 << self.spec.window_bits {
            self.kernels.whole
        } else {
            self.kernels.stream
        };
        match kernel {
            Kernel::Igzip(level) if src_len > isal::MAX_LEN => {
                if self.spec.window_bits == 15 {
                    Kernel::Libdeflate(level)
                } else {
                    Kernel::ZlibRs(level.max(2))
                }
            }
            Kernel::IgzipStatic if src_len > isal::MAX_LEN => Kernel::ZlibRsStatic(2),
            other => other,
        }
    }

    /// Decompresses the one stream, member or frame at the start of `src`; raw LZ4 and LZ4s: all of `src`.
    ///
    /// `dst.len()` is the limit: however much `src` would expand to, no more is produced. Bytes
    /// after the end are allowed, and `consumed` tells where it was. Checksum and length are
    /// verified. Preset dictionaries need a [`DecompressStream`](crate::DecompressStream).
    /// Allocates only what [`Scratch`] says (failures: a second decoder that finds out where and
    /// why, at the cost of decoding again).
    ///
    /// Errors: [`OpError::DstTooSmall`], [`OpError::BadData`] with every reason (Zstandard: hardly an offset).
    pub fn decompress(
        &self,
        scratch: &mut Scratch,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<Done, OpError> {
        match self.spec.format {
            Format::Raw | Format::Zlib | Format::Gzip => self.inflate(scratch, src, dst),
            Format::Zstd => zstd::decompress(&self.spec, &mut scratch.zstd, src, dst),
            _ => lz4::decompress(&self.spec, src, dst),
        }
    }

    fn inflate(&self, scratch: &mut Scratch, src: &[u8], dst: &mut [u8]) -> Result<Done, OpError> {
        let format = self.spec.format;
        let body_start = match HeaderParser::new(format).push(src) {
            Ok(Some(header)) if header.dictionary.is_none() => header.consumed,
            Ok(Some(header)) => return Err(BadReason::Dictionary.at(header.consumed)),
            Ok(None) => return Err(BadReason::Truncated.at(src.len())),
            Err((offset, reason)) => return Err(reason.at(offset)),
        };
        let inflate = match &mut scratch.inflate {
            Some(inflate) => inflate,
            none => none.insert(Inflate::boxed(15, &self.cpu)),
        };
        inflate.reset_for(15, &self.cpu);
        let mut checksum = RunningChecksum::new(self.spec.checksum_in_force());
        let (mut consumed, mut produced) = (0, 0);
        let body = &src[body_start..];
        while inflate.at() != Place::End {
            let part = (produced + SUMMED_AT_ONCE).min(dst.len());
            let step =
                inflate.step_after(&body[consumed..], &mut dst[..part], produced, Until::Ends);
            let taken = step
                .map_err(|(more, _)| BadReason::Block.at(body_start + consumed + more.consumed))?;
            consumed += taken.consumed;
            checksum.update(&dst[produced..][..taken.produced]);
            produced += taken.produced;
            if inflate.at() != Place::End && (produced < part || part == dst.len()) {
                return Err(stopped(inflate, &body[consumed..], &dst[..produced], |more| {
                    body_start + consumed + more
                }));
            }
        }
        let trailer_start = body_start + consumed;
        let trailer_len = format::trailer_len(format);
        let Some(trailer) = src[trailer_start..].get(..trailer_len) else {
            return Err(BadReason::Truncated.at(src.len()));
        };
        let checksum = checksum.value();
        format::check_trailer(format, trailer, checksum as u32, produced as u64)
            .map_err(|(offset, reason)| reason.at(trailer_start + offset))?;
        let consumed = trailer_start + trailer_len;
        Ok(Done { consumed, produced, checksum, status: Status::End })
    }
}

/// Why a decoder stopped: `rest` is the input, `output` all that it wrote. What would a byte more of
/// room bring?
#[cold]
fn stopped(
    inflate: &mut Inflate,
    rest: &[u8],
    output: &[u8],
    place: impl Fn(usize) -> usize,
) -> OpError {
    inflate.keep(output);
    match inflate.step(rest, &mut [0], Until::Ends) {
        Ok(more) if more.produced > 0 => OpError::DstTooSmall,
        Ok(more) => BadReason::Truncated.at(place(more.consumed)),
        Err((more, _)) => BadReason::Block.at(place(more.consumed)),
    }
}

impl Scratch {
    /// One whole raw stream, `None` if the kernel cannot fit it in `dst`.
    fn compress(
        &mut self,
        kernel: Kernel,
        codec: &Codec,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        let window_bits = codec.spec.window_bits;
        match kernel {
            Kernel::Stored => stored::compress(src, dst),
            Kernel::Own(effort) => self.own(&codec.cpu)?.compress(effort, src, dst),
            Kernel::Chains(effort) => {
                let chains = self.chains.get_or_insert_with(chains::Compressor::new);
                chains.compress(&codec.cpu, effort, src, dst)
            }
            Kernel::Igzip(level) => self.igzip(level, false, window_bits, src, dst),
            Kernel::IgzipStatic => self.igzip(0, true, window_bits, src, dst),
            Kernel::Libdeflate(level) => self.libdeflate(level, src, dst),
            Kernel::ZlibRs(level) => self.zlib_rs(level, false, window_bits, src, dst),
            Kernel::ZlibRsStatic(level) => self.zlib_rs(level, true, window_bits, src, dst),
        }
    }

    /// One piece of a raw stream, `None` if the kernel cannot fit it in `dst`.
    fn compress_piece(
        &mut self,
        kernel: Kernel,
        codec: &Codec,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        let window_bits = codec.spec.window_bits;
        match kernel {
            Kernel::Own(effort) => self.own(&codec.cpu)?.compress_piece(effort, src, dst),
            Kernel::Chains(effort) => {
                let chains = self.chains.get_or_insert_with(chains::Compressor::new);
                chains.compress_piece(&codec.cpu, effort, src, dst)
            }
            Kernel::Igzip(level) => {
                let igzip = self.igzip.get_or_insert_with(isal::OneShot::new);
                igzip.compress_piece(level, window_bits, src, dst)
            }
            Kernel::Libdeflate(level) => {
                let len = self.libdeflate(level, src, dst)?;
                self.last_block.get_or_insert_with(LastBlock::new).open(dst, len)
            }
            _ => {
                let step = self.piece(kernel, window_bits).step(src, dst, Flush::Full)?;
                (step.done && step.consumed == src.len()).then_some(step.produced)
            }
        }
    }

    /// `None` where the CPU has not what it needs: then it is not chosen either.
    fn own(&mut self, cpu: &Cpu) -> Option<&mut deflate::Compressor> {
        let cpu = cpu.avx512()?;
        Some(self.own.get_or_insert_with(|| Box::new(deflate::Compressor::new(cpu))))
    }

    fn libdeflate(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let slot = self.libdeflate.get_mut(usize::from(level))?;
        match slot {
            Some(compressor) => compressor,
            none => none.insert(libdeflate::Compressor::new(level)?),
        }
        .compress(src, dst)
    }

    fn igzip(
        &mut self,
        level: u8,
        fixed: bool,
        window_bits: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        let igzip = self.igzip.get_or_insert_with(isal::OneShot::new);
        igzip.compress(level, fixed, window_bits, src, dst)
    }

    fn zlib_rs(
        &mut self,
        level: u8,
        fixed: bool,
        window_bits: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        let new = || zlib_rs::Compressor::new(level, fixed, window_bits);
        let compressor = match &mut self.zlib_rs {
            Some(compressor) if compressor.is(level, fixed, window_bits) => compressor,
            other => other.insert(new()),
        };
        compressor.compress(src, dst)
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn owned<T: Send>() {}
    shared::<Codec>();
    owned::<Scratch>();
    owned::<crate::CompressStream>();
    owned::<crate::DecompressStream>();
};
