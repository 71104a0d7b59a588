package org.lookaside.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import org.apache.hadoop.io.compress.DirectDecompressor;

/**
 * Decompresses from one direct buffer into another, without copies, as far as source and
 * destination go; call again with more of either. Streams or members that follow each other are
 * one.
 */
final class LookasideDirectDecompressor implements DirectDecompressor {
  private final int format;
  private Lane lane;
  private boolean within;

  LookasideDirectDecompressor(int format) {
    Library.need();
    this.format = format;
  }

  @Override
  public synchronized void decompress(ByteBuffer src, ByteBuffer dst) throws IOException {
    if (!src.isDirect() || !dst.isDirect()) {
      throw new IllegalArgumentException("the buffers are not direct");
    }
    if (dst.isReadOnly()) {
      throw new ReadOnlyBufferException();
    }
    if (lane == null) {
      lane = new Lane(Device.here(), 1);
    }
    while (dst.hasRemaining() && (src.hasRemaining() || within)) {
      if (!within) {
        lane.decompressStream(format, null);
        within = true;
      }
      Lane.Answer answer = lane.between(src, dst);
      if (answer.status < 0) {
        within = false;
        throw answer.status == Native.BAD_DATA
            ? new IOException(LookasideDecompressor.reason(format, answer.reason))
            : Device.failure(answer.status);
      }
      src.position(src.position() + answer.consumed);
      dst.position(dst.position() + answer.produced);
      within = answer.status != Native.END;
      if (answer.status == Native.OK) {
        return;
      }
    }
  }
}
