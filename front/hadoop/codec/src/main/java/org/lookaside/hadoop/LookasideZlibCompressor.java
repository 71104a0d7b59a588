package org.lookaside.hadoop;

import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;

/**
 * Makes the blocks pieces of one zlib stream. Each refers to the text before it, so one is in
 * flight at a time, while the next is filled.
 */
public class LookasideZlibCompressor extends LookasideCompressor {
  /** What a stream may hold back of earlier pieces, roughly; more is taken in several steps. */
  private static final int SLACK = 64 << 10;

  private byte[] dictionary;

  /** One that {@code conf} describes. */
  public LookasideZlibCompressor(Configuration conf) {
    super(conf);
  }

  @Override
  public synchronized void setDictionary(byte[] b, int off, int len) {
    if (off < 0 || len < 0 || off > b.length - len) {
      throw new ArrayIndexOutOfBoundsException();
    }
    dictionary = Arrays.copyOfRange(b, off, off + len);
  }

  @Override
  void forget() {
    dictionary = null;
  }

  @Override
  int inFlight(int engines) {
    return 1;
  }

  @Override
  boolean endsWithBlock() {
    return true;
  }

  @Override
  int room(Lane lane, int length) {
    return SLACK + Math.toIntExact(Native.bound(session(lane), length));
  }

  private long session(Lane lane) {
    return lane.device().session(Native.ZLIB, settings.level, settings.huffman);
  }

  @Override
  void submit(Block block, boolean first) throws IOException {
    if (first) {
      lane.compressStream(Native.ZLIB, settings.level, settings.huffman, dictionary);
    }
    int flush = block.last ? Native.FLUSH_FINISH : Native.FLUSH_NONE;
    lane.piece(
        Native.COMPRESS,
        flush,
        block.number,
        block.src,
        block.from,
        block.to - block.from,
        block.dst);
  }

  @Override
  boolean submitWhole(Lane here, Block block) throws IOException {
    if (dictionary != null) {
      return false;
    }
    here.push(
        Native.COMPRESS,
        session(here),
        block.number,
        block.src,
        0,
        block.to,
        block.dst,
        0,
        block.dst.capacity());
    return true;
  }

  @Override
  void answered(Block block, Lane.Answer answer) throws IOException {
    if (answer.status < 0) {
      throw Device.failure(answer.status);
    }
    block.from += answer.consumed;
    block.produced = answer.produced;
    block.again = answer.status == Native.OVERFLOW;
  }
}
