package org.lookaside.hadoop;

import java.nio.ByteBuffer;

/**
 * The functions of {@code lookaside.h}, and its numbers. Objects are handles (never 0); a negative
 * result is one of its error numbers. Nothing here is checked beyond what the library checks: {@link
 * Device} and {@link Lane} are what the rest of the package uses.
 */
final class Native {
  static final int OK = 0;
  static final int OVERFLOW = 1;
  static final int END = 2;
  static final int BAD_DATA = -17;

  static final int BAD_TRUNCATED = 1;
  static final int BAD_HEADER = 2;
  static final int BAD_BLOCK = 3;
  static final int BAD_CHECKSUM = 4;
  static final int BAD_LENGTH = 5;
  static final int BAD_DICTIONARY = 6;

  static final int COMPRESS = 2;
  static final int DECOMPRESS = 3;

  static final int RAW = 0;
  static final int ZLIB = 1;
  static final int GZIP = 2;

  static final int DYNAMIC = 0;
  static final int STATIC = 1;

  static final int FLUSH_NONE = 0;
  static final int FLUSH_FINISH = 3;

  private Native() {}

  static native String version();

  static native String message(int status);

  /** What the last call of this thread that failed objected to. */
  static native String objection();

  static native long runtime(int engines);

  static native int engines(long runtime);

  static native long session(long runtime, int format, int level, int huffman);

  static native long bound(long session, long len);

  static native long compressStream(
      long runtime, int format, int level, int huffman, byte[] dictionary);

  static native long decompressStream(long runtime, int format, byte[] dictionary);

  static native void freeStream(long stream);

  static native long open(long runtime, int depth);

  static native int close(long instance);

  static native int push(
      long instance,
      int op,
      int flush,
      long session,
      long stream,
      long tag,
      ByteBuffer src,
      int srcAt,
      int srcLen,
      ByteBuffer dst,
      int dstAt,
      int dstLen);

  /** Waits; {@code answer}: tag, status, consumed, produced, checksum, reason. 0: none is to come. */
  static native int next(long instance, long[] answer);

  /** Where {@link Member#MARK} stands in a part of a direct buffer, or -1. */
  static native int find(ByteBuffer buffer, int at, int len, byte[] mark);

  /** Requests, source and destination bytes, busy ns; of compression, then of decompression. */
  static native int counters(long runtime, long[] out);
}
