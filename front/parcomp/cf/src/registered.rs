//! A provider that was registered through `cfRegisterProvider`.

use parcomp::{
    BadReason, Codec, Direction, Error, Format, Lane, LaneSpec, Params, Provider, SyncLane,
    TaskError,
};

use crate::{ffi::Functions, params::CfParams, status};

/// C functions as a provider.
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) functions: Functions,
}

impl Provider for Registered {
    fn name(&self) -> &str {
        &self.name
    }

    /// What zlib needs at most; where that is not enough, the function is called again with more.
    fn bound(&self, _: &Params, len: usize) -> usize {
        len + len.div_ceil(8) + 64
    }

    fn open<'a>(&self, params: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
        if spec.direction == Direction::Compress
            && matches!(spec.format, Format::Zlib | Format::Raw)
        {
            let provider = self.name.clone();
            return Err(Error::Unsupported { provider, what: "streams of pieces (zlib, raw)" });
        }
        let codec = Chunks { functions: self.functions, params: CfParams::of(params) };
        Ok(Box::new(SyncLane::new(codec, spec)))
    }
}

struct Chunks {
    functions: Functions,
    params: CfParams,
}

fn answer(answer: Result<usize, i32>) -> Result<usize, TaskError> {
    answer.map_err(|code| match code {
        status::OVERFLOW => TaskError::DstTooSmall,
        status::BAD_DATA => TaskError::BadData { offset: 0, reason: BadReason::Block },
        other => TaskError::Failed(format!("returned {other}")),
    })
}

impl Codec for Chunks {
    fn compress(&mut self, src: &[u8], dst: &mut [u8], _: bool) -> Result<usize, TaskError> {
        answer(self.functions.compress(&self.params, src, dst))
    }

    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(usize, usize), TaskError> {
        // A chunk is one whole block, so all of it is consumed. A member (gzip) has its trailer
        // behind the block: it is not told apart here, and such a chunk goes the serial way.
        answer(self.functions.decompress(&self.params, src, dst)).map(|n| (src.len(), n))
    }
}
