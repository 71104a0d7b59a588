//! What `-h` prints.

pub(crate) const HELP: &str = "\
parcomp: compresses files in parallel, through the Lookaside device or with a library

usage: parcomp [options] [-i] FILE... [-o FILE]   compress (- is standard input or output)
       parcomp -d [options] [-i] FILE... [-o FILE]
                                                  decompress
       tar -I parcomp ..., CMD | parcomp | CMD    without a FILE: from pipe to pipe
       parcomp compare FILE [-o FILE.gz] [-l N] [-c KB] [-j N] [--format NAME]
                                                  a library and the device, side by side

Without -o, FILE becomes FILE.gz, and FILE.gz becomes FILE with -d. Values may be attached
to their letter: -c64, -t4.

files
  -i, --input FILE      what to read
  -o, --output FILE     what to write: under this name only when it is whole
      --stdout          the same as -o -
      --test            decompress, and write nothing
  -k, --keep            for gzip's users: the input file always stays
      --force           replace the output file if there is one
      --format NAME     gzip (default), zlib, raw, or cf: per chunk 4 bytes length and a
                        DEFLATE block; lz4: one frame, each chunk a block; zstd: each chunk a
                        frame, and a seek table. With -d, all but raw and cf are recognised
  -d, --decompress      decompress; any gzip, zlib, lz4 or zstd file, not only our own (but
                        none that wants a dictionary, or a zstd window above 128 MiB)
      --limit BYTES     with -d: refuse to write more than this (K, M, G may follow)
      --verify          decompress the output and compare it before it gets its name

compression
  -p, --provider NAME   lookaside (default), or the library alone: zlib (of lz4 and zstd files:
                        lz4, zstd). qat:FILE: the QuickAssist card that the library FILE
                        drives; qat: the one that LOOKASIDE_CARD_LIBRARY names, or without it
                        the same as lookaside. model:NAME: answers come when a modelled card's
                        would, which makes nothing faster: card2015 (model alone), chipset2019,
                        poweren, or a file (see `lookaside model --help`)
  -c, --chunk KB        chunk size in KB, compressed separately; default 64
  -l, --level N         0 to 12 (zlib: 0 to 9), lz4 1 to 12, zstd 1 to 22; default 1
  -1 to -9              the same for one digit; --fast is -1, --best -9
  -t, --threads N       threads, each with its own device instance; default 0: the calling
                        thread does all; at most 256
  -y HEX, -a DECIMAL    the cores for threads and engines, as a bit mask (-yff: the first 8);
                        default: any
  -w, --window N        DEFLATE window: 0 to 5 for 1 KB to 32 KB, or 9 to 15 for its bits;
                        default 5
  -s, --static          static Huffman codes; default dynamic

lookaside only
  -j, --jobs N          requests outstanding at one time, from each thread: 1 (synchronous) to
                        256; default: 8 for each engine, shared by the threads, at least 8
      --engines N       engine threads; 0: the calling thread executes its own requests;
                        default: one for each core
      --wait HOW        block (default), poll or event
      --doorbell HOW    batch (default) or request

reports
  -n, --iterations N    run N times; default 1
  -x, --csv 1|2         print a line of comma-separated values; 2: with a header before it
      --json            print one JSON object
      --stats           print what served the requests (JSON has that anyway)
  -f, --mhz N           CPU frequency in MHz, for cycles per byte; measured with -v
  -v, --verbose         say more; -g, --debug is the same
  -q, --quiet           only errors
  -h, --help            this text
  -V, --version         the version

Options are accepted where they have no effect (-j with zlib; -c, -l, -s and -w with -d), so that
one command line serves both providers and both directions; a note says so.

Called pargzip, it is gzip: pargzip --help.

Exit status: 0 done, 1 error (and no output file), 2 done with a warning.
";

pub(crate) const COMPARE_HELP: &str = "\
parcomp compare: compresses a file with a library (zlib, liblz4, libzstd; one thread) and with
Lookaside (all engines), verifies both results, and prints what each of them took

usage: parcomp compare [options] FILE

  -o, --output FILE.gz  keep Lookaside's result under this name; default: FILE.gz
      --force           replace it if it is there
      --format NAME     gzip (default), lz4, zstd
  -l, --level N         compression level of both, 0 to 9; lz4 1 to 12, zstd 1 to 22; default 1
  -c, --chunk KB        chunk size of both in KB; default 64
  -j, --jobs N          requests outstanding; default: from the engines
  -n, --iterations N    run each N times and print the fastest; default 1
      --engines N       engine threads; default: one for each core
  -q, --quiet           no progress bar
";
