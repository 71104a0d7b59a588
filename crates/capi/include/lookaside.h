/* lookaside.h - the C interface of Lookaside, a software-defined acceleration device
 *
 * SYNOPSIS
 *     cc program.c $(pkg-config --cflags --libs lookaside)
 *
 *     la_runtime *runtime;  la_session *session;  la_instance *instance;
 *     la_compression gzip = LA_COMPRESSION_INIT;
 *     gzip.format = LA_GZIP;
 *     la_runtime_start(NULL, &runtime);                        engines, one for each CPU
 *     la_compression_session(runtime, &gzip, &session);        parameters, prepared once
 *     la_instance_open(runtime, NULL, &instance);              a request ring and a response ring
 *
 *     la_request request = { 0 };
 *     request.op = LA_OP_COMPRESS;       request.session = session;   request.tag = 7;
 *     request.src = src;                 request.src_len = src_len;
 *     request.dst = dst;                 request.dst_len = la_session_bound(session, src_len);
 *     la_instance_push(instance, &request);                    ... as many as fit
 *     la_instance_doorbell(instance);                          one for all of them
 *
 *     la_response response;
 *     while (la_instance_poll(instance, &response, 1) == 0)
 *         la_instance_wait(instance, 1, LA_FOREVER);
 *
 *     la_instance_close(instance);  la_session_free(session);  la_runtime_stop(runtime);
 *
 * RETURN VALUES
 *     Functions that return int return LA_OK (0) or a count on success, and one of the negative
 *     LA_E_ numbers otherwise; what they were to write is then not written, except that an object
 *     pointer is set to NULL. The numbers never change. la_last_error() tells more.
 *     A null, misaligned or foreign pointer where an object is wanted is LA_E_INVALID, as far as
 *     it can be told. A pointer to an object that was freed cannot be: do not use one.
 *
 * OWNERSHIP
 *     A function with an `la_X **` argument makes an object, which the caller owns and gives back
 *     with the function that ends it: la_runtime_stop, la_session_free, la_stream_free,
 *     la_instance_close. Every other pointer is lent for the time of the call.
 *     Objects keep alive what they need: a session may be freed while requests that use it are
 *     outstanding, and a runtime may be stopped while instances are open (its engines end when the
 *     last of those is closed).
 *
 * BUFFERS
 *     The source and destination of a request are the caller's memory, lent to the device from a
 *     successful la_instance_push until la_instance_poll has returned the response with the
 *     request's tag, or la_instance_close has returned; meanwhile nobody may write to the source,
 *     nor read or write the destination. Source and destination must not overlap. The la_request
 *     itself, and an iovec array that it names, are read by the push and free after it.
 *
 * THREADS
 *     la_runtime and la_session: any thread, any number at once. la_instance: one thread at a time
 *     (another one gets LA_E_BUSY); it may pass from thread to thread. la_stream: any thread, but
 *     all of its requests that are outstanding at one time belong to one instance.
 *     No function calls back into the program, on any thread.
 *
 * FORK
 *     A child process may go on using what its parent made: runtimes start fresh engines there,
 *     and its copy of an instance is empty, also where another thread was inside that instance. What
 *     was outstanding is answered in the parent. Do not carry on a stream in the child of which the
 *     parent had requests outstanding.
 *
 * COST
 *     Set-up allocates. Between la_instance_push and la_instance_poll nothing is allocated, save
 *     one array for each request that uses iovecs, a few bytes for each piece of a stream that is
 *     scanned or parsed, and what a document needs the first time: names, entities. Only la_instance_wait and la_call block, and
 *     la_instance_close and la_runtime_stop until what runs has ended. Doorbells, waits and polls
 *     wake an engine, if it sleeps and there is news for it.
 */
#ifndef LOOKASIDE_H
#define LOOKASIDE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h> /* struct iovec */

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; la_version() is that of the library. */
#define LA_VERSION "0.1.0"

/* ---- Numbers: frozen --------------------------------------------------------------------- */

/* What functions return, and the status of a response: negative is an error. */
enum {
    LA_OK = 0,                  /* done: the whole source was consumed */
    LA_OVERFLOW = 1,            /* streams: the destination is full and more would come. Resumable:
                                   submit the unconsumed rest, which may be empty, again with the
                                   same flush. A scan of a block: it has the first matches */
    LA_END = 2,                 /* the stream or member ended: what every stateless compression or
                                   decompression answers. A decompressor may have consumed less
                                   than the whole source */

    /* from a function */
    LA_E_INVALID = -1,          /* an argument is null or makes no sense */
    LA_E_INTERNAL = -2,         /* a defect in the library. Close the instance before you touch
                                   buffers that it holds */
    LA_E_FULL = -3,             /* no room: poll, then push again. Normal flow */
    LA_E_BUSY = -4,             /* another thread is inside this instance */
    LA_E_UNSUPPORTED = -5,      /* no device has the operation with these parameters; or in a
                                   response: the session cannot do it */
    LA_E_LIMIT = -6,            /* a setting is outside its limits */
    LA_E_SYSTEM = -7,           /* the operating system refused */
    LA_E_NOMEM = -8,            /* not enough memory; of a request: to gather its iovecs. It did not
                                   run */

    /* in a response */
    LA_E_DST_TOO_SMALL = -16,   /* terminal: nothing in the destination is usable. Streams never
                                   answer this, but LA_OVERFLOW. Also from la_scan_..._save */
    LA_E_BAD_DATA = -17,        /* the source is not valid: see bad_offset and bad_reason. Also from
                                   functions that load what was saved */
    LA_E_AUTH_FAILED = -18,     /* a tag or MAC does not match */
    LA_E_DEVICE_LOST = -19,     /* the device failed, and no other could take the request; what the
                                   destination holds is undefined */
    LA_E_CANCELLED = -20,       /* not run, the stream's state untouched: it was cancelled, the
                                   instance was closed, or an earlier request of the same stream
                                   overflowed or failed */
    LA_E_STREAM_ENDED = -21,    /* the stream had ended before this piece */
    LA_E_BAD_INPUT = -22,       /* the source of a public-key request is not valid */
    LA_E_FAULT = -23,           /* the result failed its verification and was withheld */
    LA_E_LIBRARY = -24,         /* a library that does the work failed; the result was withheld */
    LA_E_EXPIRED = -25,         /* not run, as LA_E_CANCELLED: its deadline passed before a device
                                   began with it */
    LA_E_BAD_PATTERN = -26,     /* from a function: patterns are refused, which are listed */
    LA_E_BAD_DOCUMENT = -27     /* an XML document is not well-formed, or beyond a limit: la_xml_error
                                   tells the rule; bad_offset is the place */
};

/* Why data is bad. */
enum {
    LA_BAD_TRUNCATED = 1,       /* the source ends before the stream does */
    LA_BAD_HEADER = 2,          /* not in this format */
    LA_BAD_BLOCK = 3,           /* a malformed block */
    LA_BAD_CHECKSUM = 4,        /* a checksum does not match */
    LA_BAD_LENGTH = 5,          /* the length that the data claims does not match (gzip, LZ4) */
    LA_BAD_DICTIONARY = 6,      /* a preset dictionary is missing, or is another one */
    LA_BAD_WINDOW = 7           /* the stream needs a larger window than 128 MiB (Zstandard) */
};

/* Operations. */
enum {
    LA_OP_COPY = 1,             /* copy the source to the start of the destination */
    LA_OP_COMPRESS = 2,
    LA_OP_DECOMPRESS = 3,
    LA_OP_SCAN = 4,             /* find the matches of a set of patterns */
    LA_OP_PARSE = 5             /* read an XML document to events */
};

/* What compressed data looks like. */
enum {
    LA_RAW = 0,                 /* DEFLATE alone (RFC 1951) */
    LA_ZLIB = 1,                /* in zlib's wrapper, with Adler-32 (RFC 1950) */
    LA_GZIP = 2,                /* in gzip's, with CRC-32; one member (RFC 1952) */
    LA_LZ4_RAW = 3,             /* one LZ4 block; no streams */
    LA_LZ4_BLOCKS = 4,          /* an LZ4 frame's blocks, each with 4 bytes length; no streams */
    LA_LZ4 = 5,                 /* one LZ4 frame, with xxHash-32 */
    LA_LZ4S = 6,                /* QuickAssist's LZ4s; no streams */
    LA_ZSTD = 7                 /* one Zstandard frame (RFC 8878), with its checksum */
};

/* Huffman codes that a compressor may use. */
enum {
    LA_DYNAMIC = 0,             /* codes made for the data of each block */
    LA_STATIC = 1               /* the fixed codes of RFC 1951 section 3.2.6 alone */
};

/* A checksum of the uncompressed bytes. gzip always returns CRC-32, zlib Adler-32, an LZ4 frame
 * xxHash-32. */
enum {
    LA_CHECKSUM_NONE = 0,
    LA_CHECKSUM_CRC32 = 1,
    LA_CHECKSUM_ADLER32 = 2,
    LA_CHECKSUM_XXH32 = 3,      /* xxHash-32, seed 0 */
    LA_CHECKSUM_XXH64 = 4       /* xxHash-64, seed 0: its upper half in checksum_high */
};

/* What a piece of a compression stream asks for at its end. */
enum {
    LA_FLUSH_NONE = 0,          /* nothing: the compressor may hold data back */
    LA_FLUSH_SYNC = 1,          /* everything given so far becomes decodable, aligned to a byte */
    LA_FLUSH_FULL = 2,          /* as sync, and the history is forgotten; not in Zstandard */
    LA_FLUSH_FINISH = 3         /* the stream ends here */
};

/* What a promised rate counts. */
enum {
    LA_BYTES = 0,               /* bytes of source, at least 64 for a request */
    LA_OPERATIONS = 1,          /* requests */
    LA_DEVICE_TIME = 2          /* nanoseconds of one engine */
};

/* Whether an instance is served before or behind others, whatever the weights. */
enum {
    LA_PRIORITY_NORMAL = 0,     /* by weight, behind what is committed */
    LA_PRIORITY_HIGH = 1,       /* as if all of its rate were committed; a 17th of the time is for others */
    LA_PRIORITY_BACKGROUND = 2  /* when nobody else has anything to run, and for a 17th of the time */
};

#define LA_ENGINES_AUTO (-1)        /* one engine for each CPU that the process may use */
#define LA_DEFAULT_NS UINT64_MAX    /* the library's default for a time */
#define LA_FOREVER UINT64_MAX       /* a timeout that never ends */
#define LA_IOV_MAX 1024             /* the most iovecs of one source or destination */
#define LA_HISTOGRAM_BUCKETS 40

/* ---- Objects ----------------------------------------------------------------------------- */

typedef struct la_runtime la_runtime;   /* devices, engines and a route table */
typedef struct la_session la_session;   /* prepared parameters, or patterns, of independent requests */
typedef struct la_stream la_stream;     /* one stream, submitted piece by piece */
typedef struct la_instance la_instance; /* one request ring and one response ring */

/* ---- Version and errors ------------------------------------------------------------------ */

/* The version of the library, "0.1.0". Static. */
const char *la_version(void);

/* A phrase for one of the numbers above. Static; never NULL. */
const char *la_strerror(int status);

/* What the last call on this thread that returned a negative number objected to, with names and
 * limits: "instance depth in requests is 0, outside 1 to 65536". "" if there was none. Valid until
 * the next such call on this thread. LA_E_FULL is no objection and leaves it alone. */
const char *la_last_error(void);

/* ---- Runtime ----------------------------------------------------------------------------- */

/* A settings structure begins with its size, so that a library of another version knows which
 * members are there: start from its _INIT, which fills in the defaults, then assign members. A
 * member that the library does not know must be zero (LA_E_INVALID otherwise). */
typedef struct la_runtime_options {
    size_t size;                /* sizeof(la_runtime_options) */
    const int32_t *cpus;        /* CPUs to pin engines to, one for each engine in turn; or NULL: they
                                   run on all CPUs that the main thread or this one may use. A
                                   number beyond the last CPU is LA_E_LIMIT, a CPU that this process
                                   cannot have LA_E_SYSTEM */
    size_t cpu_count;           /* how many those are, at most 1024 */
    uint64_t batch_deadline_ns; /* the longest that a request waits for others to fill its batch, if
                                   its caller neither waits nor polls; default 50 microseconds */
    int32_t engines;            /* engine threads, 0 to 1024, or LA_ENGINES_AUTO. With 0, the thread
                                   that polls, waits or calls executes the requests: right for an
                                   event loop. It needs 32 KB of stack for that, also where the
                                   system refuses engines */
    uint32_t reserved;          /* 0 */
} la_runtime_options;

#define LA_RUNTIME_OPTIONS_INIT \
    { sizeof(la_runtime_options), NULL, 0, LA_DEFAULT_NS, LA_ENGINES_AUTO, 0 }

/* Starts a runtime with the CPU device. `options` may be NULL: the defaults. Where the system refuses
 * threads, it goes on with the engines that it got, and without any as with 0 of them.
 * Errors: LA_E_INVALID, LA_E_LIMIT, LA_E_SYSTEM, LA_E_NOMEM. */
int la_runtime_start(const la_runtime_options *options, la_runtime **runtime);

/* The number of its engine threads in this process. */
int la_runtime_engines(const la_runtime *runtime);

/* Gives the runtime back. Blocks until its engines have ended, which is later, and elsewhere, if
 * instances are still open. */
int la_runtime_stop(la_runtime *runtime);

/* ---- Sessions and streams ---------------------------------------------------------------- */

typedef struct la_compression {
    size_t size;                /* sizeof(la_compression) */
    int32_t format;             /* LA_RAW, LA_ZLIB, LA_GZIP, LA_LZ4..., LA_ZSTD */
    int32_t level;              /* 0 (stored) to 12 (smallest); 1 is the default. LZ4: 1 to 12,
                                   Zstandard: 1 to 22, the libraries' own */
    int32_t huffman;            /* LA_DYNAMIC, LA_STATIC */
    int32_t window_bits;        /* 9 to 15; 0 is 15. Only compression heeds it:
                                   DEFLATE, and LZ4s, whose shortest match is 3 here */
    int32_t checksum;           /* LA_CHECKSUM_..., to return in the response */
    int32_t block_bits;         /* the largest LZ4 block: 16, 18, 20, 22 (4 MB); 0 is 22 */
} la_compression;

#define LA_COMPRESSION_INIT \
    { sizeof(la_compression), LA_RAW, 1, LA_DYNAMIC, 15, LA_CHECKSUM_NONE, 0 }

/* A session for stateless compression and decompression: every request is a whole stream or
 * member, independent of all others. `compression` may be NULL: the defaults.
 * Errors: LA_E_INVALID, LA_E_LIMIT, LA_E_UNSUPPORTED. */
int la_compression_session(const la_runtime *runtime, const la_compression *compression,
                           la_session **session);

/* A session for LA_OP_COPY. */
int la_copy_session(const la_runtime *runtime, la_session **session);

/* The length of a destination that a request with a source of `len` bytes always fits into: for a
 * compression session the largest compressed size. 0 if `session` is not one. */
size_t la_session_bound(const la_session *session, size_t len);

int la_session_free(la_session *session);

/* A compression stream: pieces of it are compressed in the order in which they were pushed, also
 * when several are outstanding. After LA_OVERFLOW or an error the requests that were pushed behind
 * it are answered LA_E_CANCELLED: submit the unconsumed rest, then those again. The dictionary, of
 * `dictionary_len` bytes, is copied; NULL and 0 for none. gzip and LZ4 have none.
 * Errors: as la_compression_session. */
int la_compress_stream(const la_runtime *runtime, const la_compression *compression,
                       const void *dictionary, size_t dictionary_len, la_stream **stream);

/* A decompression stream of a format; as above in all else. */
int la_decompress_stream(const la_runtime *runtime, int32_t format,
                         const void *dictionary, size_t dictionary_len, la_stream **stream);

int la_stream_free(la_stream *stream);

/* ---- Pattern matching -------------------------------------------------------------------- */

/* Flags of a pattern: the numbers of Hyperscan's HS_FLAG_... */
enum {
    LA_SCAN_CASELESS = 1,
    LA_SCAN_DOT_ALL = 2,        /* . matches a newline too */
    LA_SCAN_MULTI_LINE = 4,     /* ^ and $ match at newlines too */
    LA_SCAN_SINGLE_MATCH = 8,   /* only the first match of a block or stream is reported */
    LA_SCAN_ALLOW_EMPTY = 16,   /* the pattern may match the empty string */
    LA_SCAN_UTF8 = 32,
    LA_SCAN_UCP = 64,           /* Unicode properties for \w and its like */
    LA_SCAN_PREFILTER = 128,    /* what is not supported is replaced by what matches more */
    LA_SCAN_START = 256,        /* report the leftmost start of each match too */
    LA_SCAN_COMBINATION = 512,  /* a combination of other patterns' ids: 1 & (2 | !3) */
    LA_SCAN_QUIET = 1024        /* not reported: for operands of combinations */
};

/* What a set of patterns is for. */
enum {
    LA_SCAN_BLOCK = 0,          /* texts that lie in memory whole */
    LA_SCAN_STREAM = 1          /* texts that arrive in pieces; also whole ones */
};

/* Which conditions of a pattern count; any of them, added. */
enum {
    LA_SCAN_MIN_OFFSET = 1,
    LA_SCAN_MAX_OFFSET = 2,
    LA_SCAN_MIN_LENGTH = 4
};

/* A pattern. Start from { 0 }. */
typedef struct la_pattern {
    const char *text;           /* a regular expression in Hyperscan's syntax; of a literal, the
                                   bytes to find. Read during the call */
    size_t text_len;            /* in bytes, without a NUL */
    uint64_t min_offset;        /* the least and the largest offset at which a match may end */
    uint64_t max_offset;
    uint64_t min_length;        /* the least number of bytes from its start to its end */
    uint32_t id;                /* what matches are reported with; patterns may share one */
    uint32_t flags;             /* LA_SCAN_CASELESS, ..., added */
    int32_t literal;            /* 1: no character of `text` has a special meaning; or 0 */
    uint32_t conditions;        /* LA_SCAN_MIN_OFFSET, ...: those of the three above that count */
    uint64_t reserved[2];       /* 0 */
} la_pattern;

/* Why a pattern is refused. */
typedef struct la_bad_pattern {
    size_t index;               /* its place in the set, from 0 */
    int64_t offset;             /* where in its text, in bytes; -1 if it is refused as a whole */
    uint32_t id;
    char what[108];             /* UTF-8; cut if it is longer */
} la_bad_pattern;

/* A match, as it lies in the destination of LA_OP_SCAN: numbers in little-endian order. */
typedef struct la_match {
    uint64_t end;               /* offset of the byte behind the match, in its block or stream */
    uint64_t start;             /* of its first byte, of patterns with LA_SCAN_START; else 0 */
    uint32_t id;
    uint32_t reserved;
} la_match;

/* A set of `count` patterns, for LA_OP_SCAN; `mode` is LA_SCAN_BLOCK or LA_SCAN_STREAM. If any are
 * refused, it is LA_E_BAD_PATTERN, and `bad` gets the first `bad_len` reasons (NULL and 0: none), of all patterns
 * that are refused, some with several; `bad_count`, unless NULL, gets the number of all. Compiling takes
 * milliseconds for thousands.
 * Errors: LA_E_BAD_PATTERN, LA_E_INVALID.
 *
 * A request with the session scans its source as a whole. The destination gets la_match records, every
 * end of a match once for each pattern, ordered by the ends; what is no whole record is not used. With
 * LA_OVERFLOW the first matches are there, and `checksum` (with its upper half) counts all of them. */
int la_scan_session(const la_runtime *runtime, const la_pattern *patterns, size_t count, int32_t mode,
                    la_session **session, la_bad_pattern *bad, size_t bad_len, size_t *bad_count);

/* Writes the patterns of a set to `dst`, for la_scan_session_load, and their size to `len`; that alone,
 * and LA_E_DST_TOO_SMALL, if `dst_len` is less. The tables are not saved: the bytes are the same for
 * every CPU. Errors: LA_E_DST_TOO_SMALL, LA_E_INVALID. */
int la_scan_session_save(const la_session *session, void *dst, size_t dst_len, size_t *len);

/* The set that was saved, compiled. Any bytes may be given.
 * Errors: LA_E_BAD_DATA (not a saved set, or damaged), LA_E_UNSUPPORTED (another version's format),
 * LA_E_BAD_PATTERN, LA_E_INVALID. */
int la_scan_session_load(const la_runtime *runtime, const void *src, size_t src_len,
                         la_session **session);

/* A stream (the flow of one direction of a connection, a file) that is scanned for the patterns of
 * `session`, which is of LA_SCAN_STREAM and may be freed meanwhile. `state` is NULL, or what
 * la_scan_stream_save has written, of a stream of the same patterns, in any process, on any CPU: it goes
 * on there. Only its length is checked: with the state of another set, matches are wrong.
 * Errors: LA_E_UNSUPPORTED (a set for blocks), LA_E_BAD_DATA (a state of another length), LA_E_INVALID.
 *
 * Its requests (LA_OP_SCAN) are scanned in the order in which they were pushed, also when several are
 * outstanding. Offsets are those in the stream. The last piece, which may be empty, has LA_FLUSH_FINISH: it also
 * finds what matches at the end alone; behind it, all are answered LA_E_STREAM_ENDED. With LA_OVERFLOW the
 * destination is full of matches that come no second time: submit the rest of the source from `consumed`
 * on. The requests that were pushed behind it are answered LA_E_CANCELLED: submit those again, too. A
 * destination with room for no match makes no progress. */
int la_scan_stream(const la_session *session, const void *state, size_t state_len, la_stream **stream);

/* Writes the state of a stream to `dst`, and its size, which is the same for all streams of a set, to
 * `len`; that alone, and LA_E_DST_TOO_SMALL, if `dst_len` is less. It is the state after the pieces that
 * were answered: save when none is outstanding.
 * Errors: LA_E_DST_TOO_SMALL, LA_E_BUSY (a piece is being scanned), LA_E_STREAM_ENDED, LA_E_INVALID. */
int la_scan_stream_save(const la_stream *stream, void *dst, size_t dst_len, size_t *len);

/* ---- XML --------------------------------------------------------------------------------- */

/* An external entity on its way. */
typedef struct la_resource la_resource;

/* Where the bytes of external entities and of the external subset come from: calls la_xml_give, or does not, and
 * the entity is not read. `public_id` may be NULL; `system_id` is a URI as it was written, mostly relative to
 * `base`, the URI of the resource in which it stands (NULL: the document). The strings are UTF-8 and live during
 * the call. Called when a document first refers to the entity, in the middle of the parse: on the thread of an
 * engine, or on the one that polls, several at once; it must not call the runtime. What a document may ask for is
 * for it to decide: the name may be any file's. */
typedef void (*la_resolve)(void *context, const char *public_id, const char *system_id, const char *base,
                           la_resource *found);

/* How documents are read. */
typedef struct la_xml {
    size_t size;                /* sizeof(la_xml) */
    const char *encoding;       /* the encoding that the transport names, which goes before what a
                                   document says; NULL: none */
    uint64_t expansion;         /* limits: bytes of all expansions of entities, ... */
    uint64_t amplification;     /* ... bytes from entities for each byte of the document so far, ... */
    uint64_t amplification_from; /* ... which is not asked for before they have given so many, ... */
    uint64_t memory;            /* ... bytes of an unfinished token, of names, of declarations, and of
                                   pending output, each, ... */
    uint32_t depth;             /* ... open elements, and entities within entities, ... */
    uint32_t attributes;        /* ... attributes of one element, at most 65535, ... */
    uint32_t name;              /* ... bytes of a name */
    int32_t namespaces;         /* 1: names have prefixes (Namespaces in XML 1.0); 0: a colon is a
                                   character, and xmlns an attribute */
    la_resolve resolve;         /* external entities; NULL: none is read */
    void *resolve_context;      /* its first argument. It lives as long as the session, its streams and
                                   requests */
} la_xml;

#define LA_XML_INIT \
    { sizeof(la_xml), NULL, UINT64_C(1) << 30, 100, 8 << 20, 64 << 20, 4096, 10000, 50000, 1, NULL, NULL }

/* What an event is. More may be added: skip those that you do not know. */
enum {
    LA_XML_DECL = 0,            /* the XML declaration: its text between <?xml and ?> */
    LA_XML_DOCTYPE_START = 1,   /* fields (below): name, public and system identifier, "[" if there
                                   is an internal subset */
    LA_XML_DOCTYPE_END = 2,
    LA_XML_ELEMENT_DECL = 3,    /* fields: name, content model without white space */
    LA_XML_ATTRIBUTE_DECL = 4,  /* fields: element, attribute, type, #REQUIRED, #IMPLIED, #FIXED or
                                   nothing, value */
    LA_XML_ENTITY_DECL = 5,     /* fields: "%" or nothing, name, value, public and system identifier,
                                   notation; with LA_XML_DEFAULTED it has a value */
    LA_XML_NOTATION_DECL = 6,   /* fields: name, public and system identifier */
    LA_XML_START_ELEMENT = 7,   /* name; `count` attributes and namespaces follow */
    LA_XML_ATTRIBUTE = 8,       /* of the element before: name, and the value as text */
    LA_XML_NAMESPACE = 9,       /* declared by the element before: `name` is the string of the prefix
                                   (0: the default namespace), the text its URI */
    LA_XML_END_ELEMENT = 10,    /* name; `count` namespaces end with it */
    LA_XML_TEXT = 11,           /* characters; a run of them may come in several events */
    LA_XML_CDATA_START = 12,
    LA_XML_CDATA_END = 13,
    LA_XML_COMMENT = 14,        /* its text */
    LA_XML_PI = 15,             /* a processing instruction: `name` is the string of its target, the
                                   text its data */
    LA_XML_ENTITY_START = 16,   /* what comes stands in the entity whose string is `name` */
    LA_XML_ENTITY_END = 17,
    LA_XML_SKIPPED_ENTITY = 18  /* a reference to an entity that was not read; `name` as above, `count`
                                   is 1 if it is declared */
};

/* Flags of an event, added. */
enum {
    LA_XML_IN_BYTES = 1,        /* the text lies behind the events, not in the source */
    LA_XML_DEFAULTED = 2,       /* the attribute comes from the DTD */
    LA_XML_CDATA = 4,           /* the text stands in a CDATA section */
    LA_XML_EMPTY = 8            /* the element is empty: <a/> */
};

/* An event, as it lies in the destination of LA_OP_PARSE: numbers in little-endian order. Its text, UTF-8
 * without a NUL, is `len` bytes from `offset` on in
 *
 *     event->flags & LA_XML_IN_BYTES ? (const char *)(events + response.checksum) : source
 *
 * where `events` is the destination and `source` what the request's src was. The text of a declaration is a
 * series of fields: the length of each, 4 bytes, little-endian, then its bytes. */
typedef struct la_event {
    uint8_t kind;               /* LA_XML_... */
    uint8_t flags;
    uint16_t count;
    uint32_t name;              /* of elements and attributes, for la_xml_name; see also above */
    uint32_t offset;            /* of elements: the low 32 bits of their place in the document */
    uint32_t len;               /* bytes of text */
} la_event;

/* A name as it was resolved. All are numbers of strings, for la_xml_string, but the last. */
typedef struct la_name {
    uint32_t qname;             /* as it was written, with its prefix */
    uint32_t uri;               /* the name of its namespace; 0: none */
    uint32_t prefix;            /* 0: none */
    uint32_t local;
    uint32_t expanded;          /* the same for all names with this namespace and local part */
} la_name;

/* Why a document is refused. */
typedef struct la_bad_document {
    uint64_t offset;            /* bytes before the place, in the document's encoding */
    uint64_t line;              /* from 1 on */
    uint64_t column;            /* the character in its line, from 1 on */
    char rule[104];             /* UTF-8: the production or constraint of the specification, or the
                                   limit, in words */
} la_bad_document;

/* From within an la_resolve: these are the bytes of the entity, in the encoding that they name, and `base` is its
 * URI, to which what it declares is relative. Both are copied. The last call counts. Errors: LA_E_INVALID. */
int la_xml_give(la_resource *found, const void *bytes, size_t len, const char *base);

/* A session that reads documents. `xml` may be NULL: the defaults.
 * Errors: LA_E_INVALID, LA_E_LIMIT (more than 65535 attributes). */
int la_xml_session(const la_runtime *runtime, const la_xml *xml, la_session **session);

/* A document, which arrives in pieces; at once, it is one piece. The session may be freed meanwhile.
 *
 * Its requests (LA_OP_PARSE) are executed in the order in which they were pushed, also when several are
 * outstanding. A piece may end anywhere, within a character too; the last one, which may be empty, has
 * LA_FLUSH_FINISH, and is answered LA_END. The destination gets la_event records, and behind them the texts
 * that are not as in the source (references resolved, another encoding, begun in an earlier piece);
 * `checksum` counts the events. It should be aligned as an la_event is. With LA_OVERFLOW it is full and more
 * would come: submit the rest of the source from `consumed` on, with the same flush, and behind it again the
 * requests that were answered LA_E_CANCELLED. Only if nothing at all was produced does the destination have
 * to be larger: the longest value of the document must fit. Of a document that is refused (LA_E_BAD_DOCUMENT)
 * the events of the last piece are not given.
 * Errors: LA_E_UNSUPPORTED, LA_E_INVALID. */
int la_xml_stream(const la_session *session, la_stream **stream);

/* Begins another document. Returns 1: names and strings keep their numbers; or 0: they are counted anew, from
 * time to time, when there are many. Errors: LA_E_BUSY (a piece is being parsed), LA_E_INVALID. */
int la_xml_restart(la_stream *stream);

/* What a name's number means. The numbers of a document's events do not change before la_xml_restart, so a
 * program asks once for each.
 * Errors: LA_E_INVALID (no such number), LA_E_BUSY (a piece is being parsed). */
int la_xml_name(const la_stream *stream, uint32_t number, la_name *name);

/* Writes the string with this number to `dst`, UTF-8 without a NUL, and its length to `len`; that alone, and
 * LA_E_DST_TOO_SMALL, if `dst_len` is less. A number that there is not has the empty string.
 * Errors: LA_E_DST_TOO_SMALL, LA_E_BUSY (a piece is being parsed), LA_E_INVALID. */
int la_xml_string(const la_stream *stream, uint32_t number, void *dst, size_t dst_len, size_t *len);

/* Why the document was refused. Returns 1; or 0 if it was not, and writes nothing.
 * Errors: LA_E_BUSY (a piece is being parsed), LA_E_INVALID. */
int la_xml_error(const la_stream *stream, la_bad_document *error);

/* ---- Requests and responses -------------------------------------------------------------- */

/* One operation. Start from { 0 }. */
typedef struct la_request {
    uint64_t tag;               /* returned in the response; the library ignores it. A pointer
                                   travels as (uint64_t)(uintptr_t)pointer */
    int32_t op;                 /* LA_OP_... */
    int32_t flush;              /* LA_FLUSH_...; only streams heed it. Of streams that are scanned or
                                   parsed, it is LA_FLUSH_NONE, or LA_FLUSH_FINISH with the last piece */
    const la_session *session;  /* one of session and stream; the other is NULL */
    la_stream *stream;

    const void *src;            /* the source in one piece, ... */
    size_t src_len;
    const struct iovec *src_iov; /* ... or scattered: then src is NULL and src_len 0 */
    size_t src_iov_count;

    void *dst;                  /* the destination, likewise. Its length is the limit: a source that
                                   wants more is answered LA_E_DST_TOO_SMALL or LA_OVERFLOW */
    size_t dst_len;
    const struct iovec *dst_iov;
    size_t dst_iov_count;

    uint64_t reserved[2];       /* 0 */
} la_request;

/* The answer to one request. */
typedef struct la_response {
    uint64_t tag;               /* the request's */
    size_t consumed;            /* bytes of the source that were used */
    size_t produced;            /* bytes at the start of the destination that were written */
    uint64_t bad_offset;        /* for LA_E_BAD_DATA and LA_E_BAD_DOCUMENT: where, in bytes from the
                                   start of the stream; of a stateless request, from its source's */
    int32_t status;             /* not negative: LA_OK, LA_OVERFLOW, LA_END; or LA_E_... */
    int32_t bad_reason;         /* for LA_E_BAD_DATA: LA_BAD_... */
    uint32_t checksum;          /* of the uncompressed bytes (of a stream: of all so far), if the
                                   session has one. Of LA_OP_SCAN: the number of matches; of
                                   LA_OP_PARSE: of events */
    uint32_t checksum_high;     /* the upper half of one of 64 bits */
    uint32_t reserved[2];
} la_response;

/* ---- Instances --------------------------------------------------------------------------- */

typedef struct la_instance_options {
    size_t size;                    /* sizeof(la_instance_options) */
    uint32_t depth;                 /* requests that may be outstanding, 1 to 65536; 0 is 64 */
    uint32_t weight;                /* share in weighted round robin, 1 to 1000; 0 is 1 */
    /* A promised rate, in units per second; all 0 for none. */
    uint64_t committed_per_s;       /* served before all others until this is reached; 0 for none */
    uint64_t peak_per_s;            /* never served faster; 0 for no limit */
    uint64_t burst;                 /* what may be served at once after a pause; 0: the smallest
                                       allowed. At least max_request and what 1 ms earns */
    uint64_t max_request;           /* the largest request that will be pushed; 0 is 65536 bytes,
                                       1 operation, 1 ms */
    int32_t unit;                   /* LA_BYTES, ...: what these numbers count */
    int32_t priority;               /* LA_PRIORITY_NORMAL, ... */
    uint32_t spill;                 /* requests beyond the depth that are not refused with LA_E_FULL but
                                       spill into memory allocated for them, and run in their turn: 0
                                       to 65536 */
    uint32_t reserved;              /* 0 */
} la_instance_options;

#define LA_INSTANCE_OPTIONS_INIT { sizeof(la_instance_options), 64, 1, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Opens an instance. `options` may be NULL: the defaults.
 * Errors: LA_E_INVALID, LA_E_LIMIT, LA_E_SYSTEM, LA_E_NOMEM. */
int la_instance_open(const la_runtime *runtime, const la_instance_options *options,
                     la_instance **instance);

/* Opens another instance, for another thread, that shares weight, priority and rates with `of`: the two
 * count as one. Errors: LA_E_SYSTEM, LA_E_NOMEM, LA_E_BUSY. */
int la_instance_open_another(la_instance *of, la_instance **instance);

/* How many requests fit now. (What ends an instance is la_instance_close.) */
int la_instance_free_slots(const la_instance *instance);

/* How many requests were pushed and their responses not polled. */
int la_instance_outstanding(const la_instance *instance);

/* Puts a request into the ring; engines see it at the next doorbell, poll or wait. Neither blocks
 * nor wakes. On LA_OK the buffers are lent until the response.
 * Errors: LA_E_FULL; LA_E_INVALID (an operation that the session or stream does not have,
 * overlapping buffers, ...), LA_E_LIMIT (too many iovecs), LA_E_BUSY. */
int la_instance_push(la_instance *instance, const la_request *request);

/* As la_instance_push, with a deadline: if no device has begun with the request after `time_ns`
 * nanoseconds, none will, and it is answered LA_E_EXPIRED, in its turn. It waits for no others to fill
 * its batch. */
int la_instance_push_within(la_instance *instance, const la_request *request, uint64_t time_ns);

/* Cancels the requests with this tag with which no engine has begun. Returns how many that were; each
 * is answered LA_E_CANCELLED, in its turn. What an engine has taken is executed. */
int la_instance_cancel(la_instance *instance, uint64_t tag);

/* Shows all pushed requests to the engines, and wakes one if it sleeps. Returns how many there
 * were. */
int la_instance_doorbell(la_instance *instance);

/* Takes up to `n` responses. Returns how many, 0 if none is there; never blocks for an engine. Each
 * request is answered once, in any order, but those of one stream in theirs. A poll that returns
 * fewer than `n` also rings the doorbell and arms the event fd; one that returns 0 asks for partial
 * batches to be run. With 0 engines this is where requests are executed. */
int la_instance_poll(la_instance *instance, la_response *responses, size_t n);

/* Blocks until `count` responses (at least 1, at most as many as are outstanding) can be polled.
 * Returns 1; or 0 after `timeout_ns` nanoseconds, or when nothing is outstanding. Rings the
 * doorbell. With 0 engines this thread executes requests meanwhile. */
int la_instance_wait(la_instance *instance, size_t count, uint64_t timeout_ns);

/* A file descriptor that poll(2), epoll and io_uring find readable when responses are there, after
 * an la_instance_poll that returned fewer than it was asked for. So: poll first, then sleep on it.
 * Made at the first call, and again in a child after fork; the instance owns it: do not read or
 * close it. Errors: LA_E_SYSTEM, LA_E_BUSY. */
int la_instance_event_fd(la_instance *instance);

/* Gives the instance back: cancels what has not run, and blocks until what is running has ended: for
 * each MB of a source that is under 10 ms at level 6, and 50 to 200 ms at level 12, which no engine
 * interrupts. With 0 engines nothing runs. Lent buffers are the caller's again; their responses are
 * lost. LA_E_BUSY leaves it open. */
int la_instance_close(la_instance *instance);

/* One request, without an instance, from any thread: blocks until it is answered. `response` may
 * be the caller's only news of failure: the function returns LA_OK whenever there is a response.
 * Errors: as la_instance_push. */
int la_call(const la_runtime *runtime, const la_request *request, la_response *response);

/* ---- Counters ---------------------------------------------------------------------------- */

/* What one device did of one operation, in this process. A histogram's bucket 0 counts zeros,
 * bucket i counts values from 2^(i-1) to 2^i - 1, the last one everything above. */
typedef struct la_counters {
    char device[16];            /* "cpu" */
    char op[24];                /* service and operation: "dc.compress", "mv.copy" */
    uint64_t requests;          /* answered, errors included */
    uint64_t src_bytes;         /* consumed */
    uint64_t dst_bytes;         /* produced */
    uint64_t batches;           /* submitted to the device */
    uint64_t errors;            /* requests answered with an error */
    uint64_t busy;              /* how often the device took fewer requests than offered */
    uint64_t rerouted;          /* requests that left for the next device of the route */
    uint64_t busy_ns;           /* time that engines had requests in the device, all together */
    uint64_t lanes[LA_HISTOGRAM_BUCKETS];      /* requests per batch */
    uint64_t queue_ns[LA_HISTOGRAM_BUCKETS];   /* from push until an engine took the request */
    uint64_t service_ns[LA_HISTOGRAM_BUCKETS]; /* from then until it was finished */
} la_counters;

/* Writes at most `n` rows, one for each device and operation, and returns how many there are, as
 * snprintf does: that may be more than were written. With `n` 0 and `rows` NULL it returns the number
 * alone. Loop over the smaller of the two:
 *
 *     int all = la_counters_read(runtime, rows, n, NULL);
 *     for (int i = 0; i < all && i < n; i++)
 *
 * `not_run`, unless NULL, gets the number of requests that were answered without reaching a device.
 * Under load, the numbers may be a few requests behind. Allocates. */
int la_counters_read(const la_runtime *runtime, la_counters *rows, size_t n, uint64_t *not_run);

#ifdef __cplusplus
}
#endif

#endif /* LOOKASIDE_H */
