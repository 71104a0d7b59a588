//! Compresses a file to gzip members on standard output, eight requests in flight; the members are written in order.
//!
//! `cargo run --release -p lookaside --example compress -- FILE > FILE.gz`

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs::File,
    io::{self, Read, Write},
    time::Duration,
};

use lookaside::{Buf, Compression, Format, InstanceConfig, Runtime};

const IN_FLIGHT: u64 = 8;
const CHUNK: u64 = 65_536;

/// Compresses all of `input`; the number of members.
pub fn compress(mut input: impl Read, mut output: impl Write) -> Result<u64, Box<dyn Error>> {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).start()?;
    let gzip = Compression { format: Format::Gzip, level: 6, ..Compression::default() };
    let session = runtime.compression(gzip)?;
    let mut instance = runtime.instance(InstanceConfig::default())?;

    let (mut pushed, mut written, mut at_end) = (0, 0, false);
    // Members that were answered before those ahead of them.
    let mut early: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    while !at_end || written < pushed {
        while !at_end && pushed - written < IN_FLIGHT {
            let mut chunk = Vec::new();
            let read = input.by_ref().take(CHUNK).read_to_end(&mut chunk)?;
            at_end = (read as u64) < CHUNK;
            // But an empty file is one empty member.
            if read == 0 && pushed > 0 {
                break;
            }
            let dst = Buf::zeroed(session.bound(read));
            instance.push(session.compress(Buf::from(chunk), dst).tag(pushed))?;
            pushed += 1;
        }
        instance.doorbell();
        instance.wait(Duration::from_secs(1));
        for response in instance.poll() {
            let produced = response.result?.produced;
            let mut member = response.dst.into_vec();
            member.truncate(produced);
            early.insert(response.tag, member);
        }
        while let Some(member) = early.remove(&written) {
            output.write_all(&member)?;
            written += 1;
        }
    }
    Ok(written)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("usage: compress FILE")?;
    let members = compress(File::open(path)?, io::stdout().lock())?;
    eprintln!("{members} members");
    Ok(())
}
