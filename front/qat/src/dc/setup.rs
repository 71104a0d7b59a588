//! What a session is set up with, checked, as the service's parameters.

use lookaside::{Checksum, Compression, Huffman};

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
}

impl Sum {
    /// What it is of no bytes.
    pub fn start(self) -> u32 {
        u32::from(self == Sum::Adler32)
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

impl Setup {
    /// Checks a set-up.
    ///
    /// # Errors
    /// The first field that is not valid, or not served.
    pub fn new(data: &CpaDcSessionSetupData) -> Result<Setup, Refusal> {
        match data.compType {
            CPA_DC_DEFLATE => {}
            CPA_DC_LZ4 | CPA_DC_LZ4S | CPA_DC_ZSTD => {
                return Err(Refusal::unsupported(
                    "compType: only CPA_DC_DEFLATE is served; ask cpaDcQueryCapabilities first",
                ));
            }
            _ => return Err(Refusal::invalid("compType is none of the interface's")),
        }
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
        let sum = match data.checksum {
            CPA_DC_NONE => Sum::None,
            CPA_DC_CRC32 => Sum::Crc32,
            CPA_DC_ADLER32 => Sum::Adler32,
            CPA_DC_CRC32_ADLER32 => Sum::Both,
            CPA_DC_XXHASH32 | CPA_DC_XXHASH64 => {
                return Err(Refusal::unsupported("checksum: xxHash is not one of DEFLATE"));
            }
            _ => return Err(Refusal::invalid("checksum is none of the interface's")),
        };
        // Stored, static and dynamic blocks are always chosen by their size; every mode asks for that or less.
        if !(0..=CPA_DC_ASB_ENABLED.0).contains(&data.autoSelectBestHuffmanTree.0) {
            return Err(Refusal::invalid("autoSelectBestHuffmanTree is none of the interface's"));
        }
        let mut spec = Compression {
            checksum: match sum {
                Sum::None => Checksum::None,
                Sum::Crc32 | Sum::Both => Checksum::Crc32,
                Sum::Adler32 => Checksum::Adler32,
            },
            ..Compression::default()
        };
        if compresses {
            spec.level = level(data.compLevel)?;
            spec.huffman = huffman(data.huffType)?;
            spec.window_bits = window_bits(data.windowSize)?;
        }
        Ok(Setup { spec, compresses, decompresses, stateful, sum })
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
