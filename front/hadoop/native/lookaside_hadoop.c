/* The methods of org.lookaside.hadoop.Native: lookaside.h for Java, call by call. What belongs
 * together (buffers, their order, errors as exceptions) is Java's. Built by scripts/hadoop into
 * liblookaside_hadoop.so, which finds liblookaside.so.0 in its own folder.
 *
 * Handles are pointers in a long, and 0 once closed; Native's callers never pass a closed one. The
 * memory of requests is that of direct byte buffers, which the callers keep until the answer. */
#include <jni.h>
#include <lookaside.h>
#include <string.h>

#define NATIVE(result, name) \
    JNIEXPORT result JNICALL Java_org_lookaside_hadoop_Native_##name

/* An object, or a negative number. Pointers of user space are positive. */
static jlong handle(int status, void *object)
{
    return status < 0 ? status : (jlong)(intptr_t)object;
}

static void *object(jlong handle)
{
    return (void *)(intptr_t)handle;
}

NATIVE(jstring, version)(JNIEnv *env, jclass class)
{
    (void)class;
    return (*env)->NewStringUTF(env, la_version());
}

NATIVE(jstring, message)(JNIEnv *env, jclass class, jint status)
{
    (void)class;
    return (*env)->NewStringUTF(env, la_strerror(status));
}

NATIVE(jstring, objection)(JNIEnv *env, jclass class)
{
    (void)class;
    return (*env)->NewStringUTF(env, la_last_error());
}

NATIVE(jlong, runtime)(JNIEnv *env, jclass class, jint engines)
{
    la_runtime_options options = LA_RUNTIME_OPTIONS_INIT;
    la_runtime *runtime;
    int status;
    (void)env, (void)class;
    options.engines = engines;
    status = la_runtime_start(&options, &runtime);
    return handle(status, runtime);
}

NATIVE(jint, engines)(JNIEnv *env, jclass class, jlong runtime)
{
    (void)env, (void)class;
    return la_runtime_engines(object(runtime));
}

NATIVE(jlong, session)(JNIEnv *env, jclass class, jlong runtime, jint format, jint level,
                       jint huffman)
{
    la_compression compression = LA_COMPRESSION_INIT;
    la_session *session;
    int status;
    (void)env, (void)class;
    compression.format = format;
    compression.level = level;
    compression.huffman = huffman;
    compression.checksum = format == LA_ZLIB ? LA_CHECKSUM_ADLER32 : LA_CHECKSUM_CRC32;
    status = la_compression_session(object(runtime), &compression, &session);
    return handle(status, session);
}

NATIVE(jlong, bound)(JNIEnv *env, jclass class, jlong session, jlong len)
{
    (void)env, (void)class;
    return (jlong)la_session_bound(object(session), (size_t)len);
}

NATIVE(jlong, compressStream)(JNIEnv *env, jclass class, jlong runtime, jint format, jint level,
                              jint huffman, jbyteArray dictionary)
{
    la_compression compression = LA_COMPRESSION_INIT;
    la_stream *stream;
    jbyte *bytes = dictionary == NULL ? NULL : (*env)->GetByteArrayElements(env, dictionary, NULL);
    size_t len = bytes == NULL ? 0 : (size_t)(*env)->GetArrayLength(env, dictionary);
    int status;
    (void)class;
    compression.format = format;
    compression.level = level;
    compression.huffman = huffman;
    status = la_compress_stream(object(runtime), &compression, bytes, len, &stream);
    if (bytes != NULL)
        (*env)->ReleaseByteArrayElements(env, dictionary, bytes, JNI_ABORT);
    return handle(status, stream);
}

NATIVE(jlong, decompressStream)(JNIEnv *env, jclass class, jlong runtime, jint format,
                                jbyteArray dictionary)
{
    la_stream *stream;
    jbyte *bytes = dictionary == NULL ? NULL : (*env)->GetByteArrayElements(env, dictionary, NULL);
    size_t len = bytes == NULL ? 0 : (size_t)(*env)->GetArrayLength(env, dictionary);
    int status = la_decompress_stream(object(runtime), format, bytes, len, &stream);
    (void)class;
    if (bytes != NULL)
        (*env)->ReleaseByteArrayElements(env, dictionary, bytes, JNI_ABORT);
    return handle(status, stream);
}

NATIVE(void, freeStream)(JNIEnv *env, jclass class, jlong stream)
{
    (void)env, (void)class;
    la_stream_free(object(stream));
}

NATIVE(jlong, open)(JNIEnv *env, jclass class, jlong runtime, jint depth)
{
    la_instance_options options = LA_INSTANCE_OPTIONS_INIT;
    la_instance *instance;
    int status;
    (void)env, (void)class;
    options.depth = (uint32_t)depth;
    status = la_instance_open(object(runtime), &options, &instance);
    return handle(status, instance);
}

NATIVE(jint, close)(JNIEnv *env, jclass class, jlong instance)
{
    (void)env, (void)class;
    return la_instance_close(object(instance));
}

NATIVE(jint, push)(JNIEnv *env, jclass class, jlong instance, jint op, jint flush, jlong session,
                   jlong stream, jlong tag, jobject src, jint src_at, jint src_len, jobject dst,
                   jint dst_at, jint dst_len)
{
    la_request request = { 0 };
    char *from = (*env)->GetDirectBufferAddress(env, src);
    char *to = (*env)->GetDirectBufferAddress(env, dst);
    int status;
    (void)class;
    if (from == NULL || to == NULL || src_at < 0 || src_len < 0 || dst_at < 0 || dst_len < 0
        || (jlong)src_at + src_len > (*env)->GetDirectBufferCapacity(env, src)
        || (jlong)dst_at + dst_len > (*env)->GetDirectBufferCapacity(env, dst))
        return LA_E_INVALID;
    request.tag = (uint64_t)tag;
    request.op = op;
    request.flush = flush;
    request.session = object(session);
    request.stream = object(stream);
    request.src = from + src_at;
    request.src_len = (size_t)src_len;
    request.dst = to + dst_at;
    request.dst_len = (size_t)dst_len;
    status = la_instance_push(object(instance), &request);
    return status < 0 ? status : la_instance_doorbell(object(instance));
}

/* Waits for the next response and writes it into `answer`: tag, status, consumed, produced,
 * checksum, reason. Answers 1, or 0 when nothing is outstanding. */
NATIVE(jint, next)(JNIEnv *env, jclass class, jlong instance, jlongArray answer)
{
    la_response response;
    jlong words[6];
    int n;
    (void)class;
    while ((n = la_instance_poll(object(instance), &response, 1)) == 0) {
        n = la_instance_wait(object(instance), 1, LA_FOREVER);
        if (n <= 0)
            return n;
    }
    if (n < 0)
        return n;
    words[0] = (jlong)response.tag;
    words[1] = response.status;
    words[2] = (jlong)response.consumed;
    words[3] = (jlong)response.produced;
    words[4] = (jlong)response.checksum;
    words[5] = response.bad_reason;
    (*env)->SetLongArrayRegion(env, answer, 0, 6, words);
    return 1;
}

/* Where `mark` stands in a part of a buffer, in bytes from the buffer's start, or -1. The bytes 8
 * and 9 of the mark are any. */
NATIVE(jint, find)(JNIEnv *env, jclass class, jobject buffer, jint at, jint len, jbyteArray mark)
{
    char *start = (*env)->GetDirectBufferAddress(env, buffer);
    char wanted[16];
    char *from = start + at, *end = from + len;
    (void)class;
    (*env)->GetByteArrayRegion(env, mark, 0, 16, (jbyte *)wanted);
    while (end - from >= 16) {
        /* The rarest bytes first: "LA" and what stands around it. */
        char *found = memmem(from + 10, (size_t)(end - from - 10), wanted + 10, 6);
        if (found == NULL)
            break;
        if (memcmp(found - 10, wanted, 8) == 0)
            return (jint)(found - 10 - start);
        from = found - 9;
    }
    return -1;
}

/* The counters of compression and decompression: requests, source bytes, destination bytes, busy
 * nanoseconds, of each. */
NATIVE(jint, counters)(JNIEnv *env, jclass class, jlong runtime, jlongArray out)
{
    la_counters rows[64];
    jlong words[8] = { 0 };
    int n = la_counters_read(object(runtime), rows, 64, NULL);
    (void)class;
    for (int i = 0; i < n && i < 64; i++) {
        int at = strcmp(rows[i].op, "dc.compress") == 0 ? 0
               : strcmp(rows[i].op, "dc.decompress") == 0 ? 4 : -1;
        if (at < 0)
            continue;
        words[at] += (jlong)rows[i].requests;
        words[at + 1] += (jlong)rows[i].src_bytes;
        words[at + 2] += (jlong)rows[i].dst_bytes;
        words[at + 3] += (jlong)rows[i].busy_ns;
    }
    (*env)->SetLongArrayRegion(env, out, 0, 8, words);
    return n;
}
