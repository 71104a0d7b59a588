//! What `-h`, `-L` and `-V` print.

pub(crate) const VERSION: &str = concat!("pargzip (lookaside) ", env!("CARGO_PKG_VERSION"), "\n");

pub(crate) const LICENSE: &str = concat!(
    "pargzip (lookaside) ",
    env!("CARGO_PKG_VERSION"),
    "\nMay be used under the Apache License, Version 2.0, or the MIT license.\n"
);

pub(crate) fn text(program: &str) -> String {
    format!(
        "\
Usage: {program} [OPTION]... [FILE]...
Compress or uncompress FILEs as gzip does (by default, compress FILES in-place), on all cores.

Mandatory arguments to long options are mandatory for short options too.

  -c, --stdout      write on standard output, keep original files unchanged
  -d, --decompress  decompress
  -f, --force       force overwrite of output file and compress links
  -h, --help        give this help
  -i, --independent make each chunk a member, which pargzip decompresses on all cores
  -k, --keep        keep (don't delete) input files
  -l, --list        list compressed file contents
  -L, --license     display software license
  -n, --no-name     do not save or restore the original name and timestamp
  -N, --name        save or restore the original name and timestamp
  -p, --processes=N cores at work; the result is the same with any number
  -q, --quiet       suppress all warnings
  -r, --recursive   operate recursively on directories
  -S, --suffix=SUF  use suffix SUF on compressed files
      --synchronous synchronous output (safer if system crashes, but slower)
  -t, --test        test compressed file integrity
  -v, --verbose     verbose mode
  -V, --version     display version number
  -1, --fast        compress faster
  -9, --best        compress better

With no FILE, or when FILE is -, read standard input.

Called by a name with gunzip in it, it decompresses; with zcat, to standard output. Left out: what
gzip reads beside gzip (.Z, .zip, pack, lzh), and --rsyncable.
"
    )
}
