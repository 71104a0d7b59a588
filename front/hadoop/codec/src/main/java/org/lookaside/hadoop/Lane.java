package org.lookaside.hadoop;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * A request ring and a response ring of a device, the buffers that its requests name, and at most
 * one stream. What is not closed is closed when nothing refers to it any more.
 *
 * <p>A buffer belongs to the device from {@link #push} until {@link #next} has answered its
 * request. The buffers live as long as the rings do, whatever their owner forgets.
 */
final class Lane implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  /** The answer to a request. */
  static final class Answer {
    int tag;
    int status;
    int consumed;
    int produced;
    int checksum;
    int reason;
  }

  private final Device device;
  private final Open open;
  private final Cleaner.Cleanable cleanable;
  private final Answer answer = new Answer();
  private final long[] words = new long[6];
  private int outstanding;

  Lane(Device device, int depth) throws IOException {
    this.device = device;
    long instance = Native.open(device.runtime(), depth);
    if (instance < 0) {
      throw Device.failure((int) instance);
    }
    open = new Open(instance);
    cleanable = CLEANER.register(this, open);
  }

  Device device() {
    return device;
  }

  /** A buffer for requests of this lane, which lives as long as it. */
  synchronized ByteBuffer buffer(int capacity) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
    open.buffers.add(buffer);
    return buffer;
  }

  /** A larger buffer in the place of one that no request names. */
  synchronized ByteBuffer larger(ByteBuffer buffer, int capacity) {
    if (buffer.capacity() >= capacity) {
      return buffer;
    }
    open.buffers.removeIf(held -> held == buffer);
    return buffer(capacity);
  }

  /** Begins another stream: of compression. */
  synchronized void compressStream(int format, int level, int huffman, byte[] dictionary)
      throws IOException {
    stream(Native.compressStream(device.runtime(), format, level, huffman, dictionary));
  }

  /** Begins another stream: of decompression. */
  synchronized void decompressStream(int format, byte[] dictionary) throws IOException {
    stream(Native.decompressStream(device.runtime(), format, dictionary));
  }

  private void stream(long stream) throws IOException {
    if (stream < 0) {
      throw Device.failure((int) stream);
    }
    open.replaceStream(stream);
  }

  /** Submits a whole stream or member. */
  synchronized void push(
      int op, long session, int tag, ByteBuffer src, int at, int len, ByteBuffer dst, int dstAt,
      int dstLen) throws IOException {
    push(op, Native.FLUSH_NONE, session, 0, tag, src, at, len, dst, dstAt, dstLen);
  }

  /** Submits a piece of the stream. */
  synchronized void piece(
      int op, int flush, int tag, ByteBuffer src, int at, int len, ByteBuffer dst)
      throws IOException {
    push(op, flush, 0, open.stream, tag, src, at, len, dst, 0, dst.capacity());
  }

  private void push(
      int op, int flush, long session, long stream, int tag, ByteBuffer src, int at, int len,
      ByteBuffer dst, int dstAt, int dstLen) throws IOException {
    open.check();
    int status =
        Native.push(
            open.instance, op, flush, session, stream, tag, src, at, len, dst, dstAt, dstLen);
    if (status < 0) {
      throw Device.failure(status);
    }
    outstanding++;
  }

  /** Decompresses the next piece of the stream between two direct buffers of anybody's. */
  synchronized Answer between(ByteBuffer src, ByteBuffer dst) throws IOException {
    // Buffers keep their address for their life, and these live on the caller's stack.
    push(
        Native.DECOMPRESS, Native.FLUSH_NONE, 0, open.stream, 0, src, src.position(),
        src.remaining(), dst, dst.position(), dst.remaining());
    Answer answer = next();
    Reference.reachabilityFence(src);
    Reference.reachabilityFence(dst);
    return answer;
  }

  /** Requests that were not answered yet. */
  synchronized int outstanding() {
    return outstanding;
  }

  /** Waits for the next answer. It is overwritten by the next call. */
  synchronized Answer next() throws IOException {
    open.check();
    int status = Native.next(open.instance, words);
    if (status != 1) {
      throw status < 0 ? Device.failure(status) : new IOException("Lookaside: no answer to come");
    }
    outstanding--;
    answer.tag = (int) words[0];
    answer.status = (int) words[1];
    answer.consumed = (int) words[2];
    answer.produced = (int) words[3];
    answer.checksum = (int) words[4];
    answer.reason = (int) words[5];
    return answer;
  }

  /** Forgets what is outstanding, after its end. */
  synchronized void drain() throws IOException {
    while (outstanding > 0) {
      next();
    }
  }

  @Override
  public synchronized void close() {
    cleanable.clean();
  }

  /** What is to be given back. Knows nothing of the lane, so that it outlives it. */
  private static final class Open implements Runnable {
    private final List<ByteBuffer> buffers = new ArrayList<>();
    private long instance;
    private long stream;

    Open(long instance) {
      this.instance = instance;
    }

    void check() throws IOException {
      if (instance == 0) {
        throw new IOException("closed");
      }
    }

    void replaceStream(long next) {
      if (stream != 0) {
        Native.freeStream(stream);
      }
      stream = next;
    }

    @Override
    public void run() {
      if (instance != 0) {
        Native.close(instance);
        instance = 0;
      }
      replaceStream(0);
      buffers.clear();
    }
  }
}
