//! What a session is set up with, checked, as the service's parameters.

use lookaside::{Checksum, Compression, Format, Huffman};

use crate::{abi::*, refusal::Refusal};

/// Which way a session works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Compression.
    Compress,
    /// Decompression.
    Decompress,
}

/// Which checksum results carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// None.
    None,
    /// CRC-32.
    Crc32,
    /// Adler-32.
    Adler32,
    /// Both: CRC-32 in the results, both in the CRC data of a request that has some.
    Both,
    /// xxHash-32, of LZ4 and LZ4s.
    Xxh32,
    /// The lower half of xxHash-64, which a Zstandard frame has.
    Xxh64,
}

impl Sum {
    /// What it is of no bytes.
    pub fn start(self) -> u32 {
        match self {
            Sum::Adler32 => 1,
            Sum::Xxh32 => 0x02cc_5d05,
            Sum::Xxh64 => 0x51d8_e999,
            Sum::None | Sum::Crc32 | Sum::Both => 0,
        }
    }
}

/// A session's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The service's.
    pub spec: Compression,
    /// Whether it may compress.
    pub compresses: bool,
    /// Whether it may decompress.
    pub decompresses: bool,
    /// Whether requests are parts of one stream.
    pub stateful: bool,
    /// The checksum of results.
    pub sum: Sum,
    /// LZ4: what a frame's header says of its blocks. They are independent in either case.
    pub independent: bool,
    /// LZ4: blocks to decompress have checksums. Those that are made have none.
    pub block_checksums: bool,
    /// LZ4: the checksum of compression goes on from request to request.
    pub accumulates: bool,
}

/// The level of a set-up or an update.
///
/// # Errors
/// For what is none.
pub fn level(level: CpaDcCompLvl) -> Result<u8, Refusal> {
    match level.0 {
        1..=12 => Ok(level.0 as u8),
        _ => Err(Refusal::invalid("compLevel is not CPA_DC_L1 to CPA_DC_L12")),
    }
}

/// The Huffman codes of a set-up or an update.
///
/// # Errors
/// For what is none, and for codes given beforehand.
pub fn huffman(kind: CpaDcHuffType) -> Result<Huffman, Refusal> {
    match kind {
        CPA_DC_HT_STATIC => Ok(Huffman::Static),
        CPA_DC_HT_FULL_DYNAMIC => Ok(Huffman::Dynamic),
        CPA_DC_HT_PRECOMP => Err(Refusal::unsupported(
            "huffType CPA_DC_HT_PRECOMP has no way to give codes; use CPA_DC_HT_FULL_DYNAMIC",
        )),
        _ => Err(Refusal::invalid("huffType is none of the interface's")),
    }
}

fn window_bits(size: CpaDcCompWindowSize) -> Result<u8, Refusal> {
    match size.0 {
        // 0 is CPA_DC_WINSIZE_4K, and what programs leave that say nothing; 7 was 32 KB before interface 3.0.
        // Hardware ignores the field for DEFLATE.
        0 | 3 | 7 => Ok(15),
        1 => Ok(13),
        2 => Ok(14),
        _ => Err(Refusal::invalid("windowSize is not one of DEFLATE, 8 KB to 32 KB")),
    }
}

/// The largest block of LZ4.
fn block_bits(data: &CpaDcSessionSetupData) -> Result<u8, Refusal> {
    match data.lz4BlockMaxSize {
        CPA_DC_LZ4_MAX_BLOCK_SIZE_64K => Ok(16),
        CPA_DC_LZ4_MAX_BLOCK_SIZE_256K => Ok(18),
        CPA_DC_LZ4_MAX_BLOCK_SIZE_1M => Ok(20),
        CPA_DC_LZ4_MAX_BLOCK_SIZE_4M => Ok(22),
        _ => Err(Refusal::invalid("lz4BlockMaxSize is none of the interface's")),
    }
}

fn lz4_flag(value: CpaBoolean) -> Result<bool, Refusal> {
    match value {
        CPA_FALSE => Ok(false),
        CPA_TRUE => Ok(true),
        _ => Err(Refusal::invalid("a flag of LZ4 is neither CPA_TRUE nor CPA_FALSE")),
    }
}

impl Setup {
    /// The service's parameters of decompression.
    pub fn decoder(&self) -> Compression {
        // Blocks with checksums are read as a frame.
        let format = if self.block_checksums { Format::Lz4 } else { self.spec.format };
        Compression { format, ..self.spec.clone() }
    }

    /// Checks a set-up.
    ///
    /// # Errors
    /// The first field that is not valid, or not served.
    pub fn new(data: &CpaDcSessionSetupData) -> Result<Setup, Refusal> {
        let format = match data.compType {
            CPA_DC_DEFLATE => Format::Raw,
            CPA_DC_LZ4 => Format::Lz4Blocks,
            CPA_DC_LZ4S => Format::Lz4s,
            CPA_DC_ZSTD => Format::Zstd,
            _ => return Err(Refusal::invalid("compType is none of the interface's")),
        };
        let (compresses, decompresses) = match data.sessDirection {
            CPA_DC_DIR_COMPRESS => (true, false),
            CPA_DC_DIR_DECOMPRESS => (false, true),
            CPA_DC_DIR_COMBINED => (true, true),
            _ => return Err(Refusal::invalid("sessDirection is none of the interface's")),
        };
        let stateful = match data.sessState {
            CPA_DC_STATEFUL => true,
            CPA_DC_STATELESS => false,
            _ => return Err(Refusal::invalid("sessState is none of the interface's")),
        };
        if stateful && !format.is_deflate() {
            return Err(Refusal::unsupported(
                "sessState: CPA_DC_STATEFUL is of CPA_DC_DEFLATE alone",
            ));
        }
        if decompresses && format == Format::Lz4s {
            return Err(Refusal::unsupported(
                "compType: CPA_DC_LZ4S is compressed to alone; another program makes Zstandard from it",
            ));
        }
        let sum = match data.checksum {
            CPA_DC_NONE => Sum::None,
            CPA_DC_CRC32 => Sum::Crc32,
            CPA_DC_ADLER32 => Sum::Adler32,
            CPA_DC_CRC32_ADLER32 => Sum::Both,
            CPA_DC_XXHASH32 => Sum::Xxh32,
            CPA_DC_XXHASH64 => Sum::Xxh64,
            _ => return Err(Refusal::invalid("checksum is none of the interface's")),
        };
        let fits = match (format, sum) {
            (_, Sum::None) => true,
            (Format::Lz4Blocks | Format::Lz4s, sum) => sum == Sum::Xxh32,
            (Format::Zstd, sum) => matches!(sum, Sum::Xxh32 | Sum::Xxh64),
            (_, sum) => !matches!(sum, Sum::Xxh32 | Sum::Xxh64),
        };
        if !fits {
            return Err(Refusal::invalid(
                "checksum: CRC-32 and Adler-32 are of DEFLATE, xxHash-32 of LZ4 and LZ4s, both xxHashes of Zstandard",
            ));
        }
        // Stored, static and dynamic blocks are always chosen by their size; every mode asks for that or less.
        if !(0..=CPA_DC_ASB_ENABLED.0).contains(&data.autoSelectBestHuffmanTree.0) {
            return Err(Refusal::invalid("autoSelectBestHuffmanTree is none of the interface's"));
        }
        let mut spec = Compression {
            checksum: match sum {
                Sum::None => Checksum::None,
                Sum::Crc32 | Sum::Both => Checksum::Crc32,
                Sum::Adler32 => Checksum::Adler32,
                Sum::Xxh32 => Checksum::Xxh32,
                Sum::Xxh64 => Checksum::Xxh64,
            },
            ..Compression::new(format)
        };
        let (mut independent, mut block_checksums, mut accumulates) = (false, false, false);
        if format == Format::Lz4Blocks {
            spec.block_bits = block_bits(data)?;
            independent = lz4_flag(data.lz4BlockIndependence)?;
            block_checksums = lz4_flag(data.lz4BlockChecksum)?;
            accumulates = lz4_flag(data.accumulateXXHash)? && sum == Sum::Xxh32;
        }
        if format == Format::Lz4s {
            spec.min_match = match data.minMatch {
                CPA_DC_MIN_3_BYTE_MATCH => 3,
                CPA_DC_MIN_4_BYTE_MATCH => 4,
                _ => return Err(Refusal::invalid("minMatch is none of the interface's")),
            };
        }
        if compresses {
            spec.level = level(data.compLevel)?;
        }
        if compresses && format.is_deflate() {
            spec.huffman = huffman(data.huffType)?;
            spec.window_bits = window_bits(data.windowSize)?;
        }
        Ok(Setup {
            spec,
            compresses,
            decompresses,
            stateful,
            sum,
            independent,
            block_checksums,
            accumulates,
        })
    }

    /// Refuses a request of a way that the session does not have.
    ///
    /// # Errors
    /// When it does not.
    #[inline]
    pub fn check(&self, way: Way) -> Result<(), Refusal> {
        match way {
            Way::Compress if self.compresses => Ok(()),
            Way::Decompress if self.decompresses => Ok(()),
            _ => Err(Refusal::invalid("the session's sessDirection is the other one")),
        }
    }
}
