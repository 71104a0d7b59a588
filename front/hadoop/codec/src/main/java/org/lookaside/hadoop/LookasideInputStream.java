package org.lookaside.hadoop;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.SplitCompressionInputStream;

/**
 * Reads gzip: a whole file, or those members of it that begin within a split.
 *
 * <p>Indexed members are decompressed whole, by the engines, a few ahead of the reader. Others,
 * whoever wrote them, go through a {@link LookasideDecompressor} piece by piece.
 *
 * <p>What a reader of lines needs to know where its split ends ({@code LineRecordReader}): no read
 * goes beyond the end of a member; and {@link #getPos} is one byte behind the start of the member
 * that the last byte came from. So it is beyond the split's end as soon as, and not before, a byte
 * was read of a member that is the next split's. Data goes on beyond the end, for the line that
 * does.
 */
final class LookasideInputStream extends SplitCompressionInputStream {
  /** Members with more data than this, or longer, are decompressed piece by piece. */
  private static final int LARGEST = 32 << 20;

  /** One indexed member: on its way, or what became of it. */
  private final class Ahead {
    final int number;
    long start;
    boolean splittable;
    int data;
    ByteBuffer src;
    ByteBuffer dst;
    boolean answered;
    IOException failure;
    int at;

    Ahead(int number) {
      this.number = number;
    }
  }

  private final LookasideDecompressor decompressor;
  private final boolean pooled;
  private final int engines;
  private final byte[] raw;
  private int rawAt;
  private int rawEnd;
  /** Of {@code raw[rawAt]} in the file. */
  private long position;

  private final boolean split;
  private final long end;
  /** Whether the members are a split's or the file's; false: of a file that cannot be split. */
  private boolean marked;

  private Lane lane;
  private Ahead[] slots;
  private final ArrayDeque<Ahead> free = new ArrayDeque<>();
  private final ArrayDeque<Ahead> pipeline = new ArrayDeque<>();
  private boolean foreign;
  private boolean any;
  private boolean eof;
  private boolean closed;
  private long advertised;
  private IOException failure;
  private final byte[] one = new byte[1];

  /** A whole file. */
  LookasideInputStream(
      InputStream in, LookasideDecompressor decompressor, boolean pooled, Settings settings)
      throws IOException {
    this(in, decompressor, pooled, settings, false, 0, Long.MAX_VALUE);
  }

  /** The members that begin in {@code start..end}. */
  LookasideInputStream(
      InputStream in, LookasideDecompressor decompressor, boolean pooled, Settings settings,
      boolean split, long start, long end) throws IOException {
    super(in, start, end);
    this.decompressor = decompressor;
    this.pooled = pooled;
    this.engines = settings.engines;
    this.raw = new byte[Math.max(settings.ioBuffer, 4096)];
    this.split = split;
    this.end = end;
    decompressor.reset();
    if (split) {
      begin(start);
    }
  }

  /** Goes to the first member of the split. */
  private void begin(long start) throws IOException {
    Seekable file = (Seekable) in;
    if (file.getPos() != 0) {
      file.seek(0);
    }
    boolean there = fill(Member.HEADER);
    Member first = there ? Member.read(raw, rawAt, rawEnd - rawAt) : null;
    marked = first != null && first.splittable;
    advertised = start;
    if (start == 0) {
      return;
    }
    if (!marked) {
      // The first split has it all.
      none();
      return;
    }
    file.seek(start);
    position = start;
    rawAt = 0;
    rawEnd = 0;
    while (position < end && fill(Member.HEADER)) {
      Member member = Member.read(raw, rawAt, rawEnd - rawAt);
      if (member != null && member.splittable) {
        setStart(position);
        advertised = position;
        return;
      }
      int next = rawAt + 1;
      while (next < rawEnd && raw[next] != Member.MARK[0]) {
        next++;
      }
      position += next - rawAt;
      rawAt = next;
    }
    none();
  }

  private void none() {
    eof = true;
    any = true;
    rawAt = 0;
    rawEnd = 0;
    advertised = end;
    setStart(end);
  }

  @Override
  public int read() throws IOException {
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] b, int off, int len) throws IOException {
    if (closed) {
      throw new IOException("Stream closed");
    }
    if ((off | len | (off + len) | (b.length - (off + len))) < 0) {
      throw new IndexOutOfBoundsException();
    }
    if (len == 0) {
      return 0;
    }
    if (failure != null) {
      throw new IOException(failure.getMessage(), failure);
    }
    try {
      return step(b, off, len);
    } catch (IOException e) {
      failure = e;
      throw e;
    }
  }

  private int step(byte[] b, int off, int len) throws IOException {
    while (true) {
      if (foreign) {
        int n = readForeign(b, off, len);
        if (n > 0) {
          return n;
        }
        continue;
      }
      Ahead first = pipeline.peek();
      if (first != null && first.at < first.data && first.answered && first.failure == null) {
        int n = Math.min(len, first.data - first.at);
        LookasideCompressor.copy(first.dst, first.at, b, off, n);
        if (first.at == 0 && marked && first.splittable) {
          advertised = first.start + 1;
        }
        first.at += n;
        return n;
      }
      if (first != null && first.answered) {
        if (first.failure != null) {
          throw first.failure;
        }
        free.add(pipeline.remove());
        readAhead();
        continue;
      }
      readAhead();
      if (!pipeline.isEmpty()) {
        await(pipeline.peek());
      } else if (!foreign) {
        if (!any) {
          // As Hadoop's own streams answer to an empty file.
          throw new EOFException("Unexpected end of input stream");
        }
        return -1;
      }
    }
  }

  /** Submits members as long as they are indexed and there are slots. */
  private void readAhead() throws IOException {
    while (!eof && !foreign) {
      if (slots != null && free.isEmpty()) {
        return;
      }
      Ahead last = pipeline.peekLast();
      if (last != null && (marked && last.start >= end || last.failure != null)) {
        return;
      }
      if (!fill(1)) {
        eof = true;
        return;
      }
      fill(Member.HEADER);
      Member member = Member.read(raw, rawAt, rawEnd - rawAt);
      if (member == null || member.length > LARGEST || member.data > LARGEST) {
        // Its turn comes when what is ahead of it was read.
        foreign = pipeline.isEmpty();
        if (foreign) {
          decompressor.reset();
        }
        any = true;
        return;
      }
      any = true;
      submit(member);
    }
  }

  private void submit(Member member) throws IOException {
    open();
    Ahead ahead = free.remove();
    ahead.start = position;
    ahead.splittable = member.splittable;
    ahead.data = member.data;
    ahead.at = 0;
    ahead.answered = false;
    ahead.failure = null;
    int length = member.length;
    ahead.src = ahead.src == null ? lane.buffer(length) : lane.larger(ahead.src, length);
    // A destination of nothing is none.
    int room = Math.max(member.data, 1);
    ahead.dst = ahead.dst == null ? lane.buffer(room) : lane.larger(ahead.dst, room);
    ahead.src.clear();
    pipeline.add(ahead);
    while (ahead.src.position() < member.length) {
      if (rawAt == rawEnd && !fill(1)) {
        ahead.answered = true;
        ahead.failure = new EOFException("Unexpected end of input stream");
        return;
      }
      int n = Math.min(rawEnd - rawAt, member.length - ahead.src.position());
      ahead.src.put(raw, rawAt, n);
      rawAt += n;
      position += n;
    }
    lane.push(
        Native.DECOMPRESS,
        lane.device().session(Native.GZIP, 1, Native.DYNAMIC),
        ahead.number,
        ahead.src,
        0,
        member.length,
        ahead.dst,
        0,
        room);
  }

  private void await(Ahead wanted) throws IOException {
    while (!wanted.answered) {
      Lane.Answer answer = lane.next();
      Ahead ahead = slots[answer.tag];
      ahead.answered = true;
      if (answer.status == Native.BAD_DATA) {
        ahead.failure = new IOException(LookasideDecompressor.reason(Native.GZIP, answer.reason));
      } else if (answer.status != Native.END
          || answer.produced != ahead.data
          || answer.consumed != ahead.src.position()) {
        ahead.failure = new IOException("the lengths in a gzip member's header do not match it");
      }
    }
  }

  private void open() throws IOException {
    if (lane != null) {
      return;
    }
    Device device = Device.with(engines);
    // One is read from while the others are on their way.
    int depth = LookasideCompressor.usualInFlight(device.engines()) + 1;
    lane = new Lane(device, depth);
    slots = new Ahead[device.engines() == 0 ? 1 : depth];
    for (int i = 0; i < slots.length; i++) {
      slots[i] = new Ahead(i);
      free.add(slots[i]);
    }
  }

  /** From a member that is not indexed; 0: it has ended. */
  private int readForeign(byte[] b, int off, int len) throws IOException {
    int n;
    while ((n = decompressor.decompress(b, off, len)) == 0) {
      if (decompressor.finished()) {
        int rest = decompressor.getRemaining();
        rawAt -= rest;
        position -= rest;
        foreign = false;
        return 0;
      }
      if (rawAt == rawEnd && !fill(1)) {
        throw new EOFException("Unexpected end of input stream");
      }
      decompressor.setInput(raw, rawAt, rawEnd - rawAt);
      position += rawEnd - rawAt;
      rawAt = rawEnd;
    }
    return n;
  }

  /** Has at least {@code wanted} bytes in {@code raw}; false if the file ends before. */
  private boolean fill(int wanted) throws IOException {
    if (rawEnd - rawAt >= wanted) {
      return true;
    }
    System.arraycopy(raw, rawAt, raw, 0, rawEnd - rawAt);
    rawEnd -= rawAt;
    rawAt = 0;
    while (rawEnd < wanted) {
      int n = in.read(raw, rawEnd, raw.length - rawEnd);
      if (n < 0) {
        return false;
      }
      rawEnd += n;
    }
    return true;
  }

  @Override
  public long getPos() throws IOException {
    if (!split) {
      return super.getPos();
    }
    return marked ? advertised : Math.min(position, end);
  }

  @Override
  public int available() throws IOException {
    if (closed) {
      throw new IOException("Stream closed");
    }
    return eof && pipeline.isEmpty() && !foreign ? 0 : 1;
  }

  @Override
  public void resetState() throws IOException {
    if (lane != null) {
      lane.drain();
    }
    free.addAll(pipeline);
    pipeline.clear();
    foreign = false;
    eof = false;
    any = false;
    failure = null;
    rawAt = 0;
    rawEnd = 0;
    decompressor.reset();
  }

  @Override
  public void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    try {
      super.close();
    } finally {
      if (lane != null) {
        lane.close();
      }
      if (pooled) {
        CodecPool.returnDecompressor(decompressor);
      }
    }
  }
}
