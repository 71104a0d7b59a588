package org.lookaside.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.hadoop.io.compress.Decompressor;

/**
 * Decompresses one gzip member or zlib stream, whoever wrote it, piece by piece on the caller's
 * thread. As with Hadoop's own, what follows the end is the caller's: {@link #getRemaining}, {@link
 * #reset}.
 */
abstract class LookasideDecompressor implements Decompressor {
  private static final byte[] NOTHING = {};
  private static final int STAGED = 64 << 10;
  private static final int ROOM = 128 << 10;

  private final int format;
  private Lane lane;
  private ByteBuffer src;
  private int from;
  private int to;
  private ByteBuffer dst;
  /** What stands in {@code dst}: reads of a few bytes are cheaper from an array. */
  private final byte[] data = new byte[ROOM];

  private int at;
  private int produced;
  private boolean more;

  private byte[] user = NOTHING;
  private int userAt;
  private int userLength;
  /** The start of a zlib stream, until it is known whether it wants a dictionary. */
  private final byte[] head = new byte[6];

  private int headLength;
  private boolean begun;
  private boolean needsDictionary;
  private byte[] dictionary;
  private boolean finished;
  private boolean ended;
  private IOException failure;

  LookasideDecompressor(int format) {
    Library.need();
    this.format = format;
  }

  @Override
  public synchronized void setInput(byte[] b, int off, int len) {
    if (b == null) {
      throw new NullPointerException();
    }
    if (off < 0 || len < 0 || off > b.length - len) {
      throw new ArrayIndexOutOfBoundsException();
    }
    user = b;
    userAt = off;
    userLength = len;
  }

  @Override
  public synchronized boolean needsInput() {
    return userLength == 0 && from == to && !more && at == produced && !finished
        && !needsDictionary;
  }

  @Override
  public synchronized void setDictionary(byte[] b, int off, int len) {
    if (off < 0 || len < 0 || off > b.length - len) {
      throw new ArrayIndexOutOfBoundsException();
    }
    dictionary = Arrays.copyOfRange(b, off, off + len);
    needsDictionary = false;
  }

  @Override
  public synchronized boolean needsDictionary() {
    return needsDictionary;
  }

  @Override
  public synchronized boolean finished() {
    return finished && at == produced;
  }

  @Override
  public synchronized int getRemaining() {
    return to - from + userLength;
  }

  @Override
  public synchronized int decompress(byte[] b, int off, int len) throws IOException {
    if (off < 0 || len < 0 || off > b.length - len) {
      throw new ArrayIndexOutOfBoundsException();
    }
    if (ended) {
      throw new IOException("decompress called on closed decompressor");
    }
    if (failure != null) {
      throw new IOException(failure.getMessage(), failure);
    }
    try {
      while (len > 0 && at == produced) {
        if (finished || needsDictionary || !run()) {
          return 0;
        }
      }
    } catch (IOException e) {
      failure = e;
      throw e;
    }
    int n = Math.min(len, produced - at);
    System.arraycopy(data, at, b, off, n);
    at += n;
    return n;
  }

  /** One request; false if there is nothing to give it. */
  private boolean run() throws IOException {
    open();
    if (!begun && !begin()) {
      return false;
    }
    if (from == to) {
      from = 0;
      to = 0;
      src.clear();
      stage(Math.min(userLength, STAGED));
    }
    if (from == to && !more) {
      return false;
    }
    lane.piece(Native.DECOMPRESS, Native.FLUSH_NONE, 0, src, from, to - from, dst);
    Lane.Answer answer = lane.next();
    if (answer.status < 0) {
      throw answer.status == Native.BAD_DATA
          ? new IOException(reason(format, answer.reason))
          : Device.failure(answer.status);
    }
    from += answer.consumed;
    at = 0;
    produced = answer.produced;
    LookasideCompressor.copy(dst, 0, data, 0, produced);
    more = answer.status == Native.OVERFLOW;
    finished = answer.status == Native.END;
    return true;
  }

  private void stage(int n) {
    if (n == 0) {
      return;
    }
    src.position(to);
    src.put(user, userAt, n);
    to += n;
    userAt += n;
    userLength -= n;
    user = userLength == 0 ? NOTHING : user;
  }

  /** Starts the stream; of zlib's, once its header has said whether it needs a dictionary. */
  private boolean begin() throws IOException {
    if (format == Native.ZLIB) {
      while (userLength > 0 && headLength < wantedHead()) {
        head[headLength++] = user[userAt++];
        userLength--;
      }
      if (headLength < wantedHead()) {
        return false;
      }
      if (headLength == 6 && dictionary == null) {
        needsDictionary = true;
        return false;
      }
    } else if (userLength == 0) {
      return false;
    }
    lane.decompressStream(format, headLength == 6 ? dictionary : null);
    src.clear();
    src.put(head, 0, headLength);
    from = 0;
    to = headLength;
    stage(Math.min(userLength, STAGED - headLength));
    begun = true;
    return true;
  }

  private int wantedHead() {
    boolean preset = headLength >= 2 && (head[1] & 0x20) != 0 && (head[0] & 0xf) == 8
        && ((head[0] & 0xff) << 8 | head[1] & 0xff) % 31 == 0;
    return preset ? 6 : 2;
  }

  /** Why data is bad, in the words that Hadoop's own decompressors use where they have some. */
  static String reason(int format, int reason) {
    switch (reason) {
      case Native.BAD_TRUNCATED:
        return "Unexpected end of input stream";
      case Native.BAD_HEADER:
        return format == Native.GZIP ? "not a gzip file" : "incorrect header check";
      case Native.BAD_CHECKSUM:
        return format == Native.GZIP ? "gzip stream CRC failure" : "incorrect data check";
      case Native.BAD_LENGTH:
        return "stored gzip size doesn't match decompressed size";
      case Native.BAD_DICTIONARY:
        return "not the dictionary that the stream was compressed with";
      default:
        return "invalid compressed data";
    }
  }

  private void open() throws IOException {
    if (lane == null) {
      lane = new Lane(Device.here(), 1);
      src = lane.buffer(STAGED);
      dst = lane.buffer(ROOM);
    }
  }

  @Override
  public synchronized void reset() {
    from = 0;
    to = 0;
    at = 0;
    produced = 0;
    more = false;
    user = NOTHING;
    userLength = 0;
    headLength = 0;
    begun = false;
    needsDictionary = false;
    dictionary = null;
    finished = false;
    if (failure != null && lane != null) {
      lane.close();
      lane = null;
    }
    failure = null;
  }

  @Override
  public synchronized void end() {
    ended = true;
    if (lane != null) {
      lane.close();
      lane = null;
    }
  }
}
