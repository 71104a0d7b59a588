package org.lookaside.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.Compressor;

/**
 * Collects what it is given into blocks and has the device compress them, while it collects the
 * next. What a block becomes is the subclass's: a gzip member, or a piece of one zlib stream.
 *
 * <p>Small input costs no call out of Java: it is copied into the block. A stream that ends with its
 * first block is compressed at once on the caller's thread, which would only wait otherwise.
 */
abstract class LookasideCompressor implements Compressor {
  private static final byte[] NOTHING = {};
  /** Blocks in flight beyond this help no more. */
  private static final int MAX_IN_FLIGHT = 3;

  /** Where a block is. */
  enum State {
    FREE,
    FILLED,
    IN_FLIGHT,
    ANSWERED
  }

  /** One block: its text, and what it became. */
  static final class Block {
    final int number;
    ByteBuffer src;
    ByteBuffer dst;
    /** What of the text is not consumed yet. */
    int from;

    int to;
    /** What of the destination is not taken yet. */
    int at;

    int produced;
    boolean last;
    /** Whether the destination was too small: the rest is submitted again. */
    boolean again;

    State state = State.FREE;

    Block(int number) {
      this.number = number;
    }
  }

  /** What the configuration says. */
  protected Settings settings;
  /** The rings to the engines, and to the caller's own thread; each opened when first needed. */
  protected Lane lane;

  private Lane here;
  private Block[] blocks;
  /** Blocks in use: from {@code head}, {@code used} of them, in the order of the text. */
  private int head;

  private int used;
  private Block filling;
  /** The text of the block that is being filled: writes of a few bytes are cheaper into an array. */
  private byte[] text;

  private byte[] user = NOTHING;
  private int userAt;
  private int userLength;
  private boolean finishing;
  private boolean finished;
  private boolean ended;
  private boolean begun;
  private boolean submitted;
  private boolean closed;
  private IOException failure;
  private long bytesRead;
  private long bytesWritten;

  LookasideCompressor(Configuration conf) {
    Library.need();
    settings = new Settings(conf == null ? new Configuration() : conf);
  }

  // What differs.

  /** Blocks that may be in flight at a time. */
  abstract int inFlight(int engines);

  /** Room for what a block of so many bytes becomes. */
  abstract int room(Lane lane, int length);

  /** Submits a block, or the rest of it, to the engines. */
  abstract void submit(Block block, boolean first) throws IOException;

  /** Submits the only block of a stream to the caller's thread; false if there is no such way. */
  abstract boolean submitWhole(Lane here, Block block) throws IOException;

  /** Makes what the device answered the block's output. */
  abstract void answered(Block block, Lane.Answer answer) throws IOException;

  /** Whether a stream ends with a block that says so, be it empty. */
  abstract boolean endsWithBlock();

  /** Forgets the dictionary and the like. */
  void forget() {}

  // Compressor.

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
    bytesRead += len;
    if (blocks != null && failure == null) {
      absorb();
    }
  }

  @Override
  public synchronized boolean needsInput() {
    return userLength == 0 && !finishing;
  }

  @Override
  public synchronized void setDictionary(byte[] b, int off, int len) {
    throw new UnsupportedOperationException("gzip has no dictionaries");
  }

  @Override
  public synchronized long getBytesRead() {
    return bytesRead;
  }

  @Override
  public synchronized long getBytesWritten() {
    return bytesWritten;
  }

  @Override
  public synchronized void finish() {
    finishing = true;
  }

  @Override
  public synchronized boolean finished() {
    return finished;
  }

  @Override
  public synchronized int compress(byte[] b, int off, int len) throws IOException {
    if (off < 0 || len < 0 || off > b.length - len) {
      throw new ArrayIndexOutOfBoundsException();
    }
    check();
    try {
      open();
      return step(b, off, len);
    } catch (IOException e) {
      failure = e;
      throw e;
    }
  }

  /** Something of the output, or all of the input taken. */
  private int step(byte[] b, int off, int len) throws IOException {
    while (len > 0) {
      Block first = used > 0 ? blocks[head] : null;
      if (first != null && first.state == State.ANSWERED) {
        int taken = take(first, b, off, len);
        if (taken > 0) {
          bytesWritten += taken;
          return taken;
        }
        continue;
      }
      absorb();
      if (userLength == 0 && !finishing) {
        launch();
        return 0;
      }
      if (userLength == 0 && !closed) {
        closeLast();
      }
      launch();
      if (closed && used == 0) {
        finished = true;
        return 0;
      }
      if (used > 0 && blocks[head].state == State.IN_FLIGHT) {
        collect(lane);
      }
    }
    return 0;
  }

  private int take(Block block, byte[] b, int off, int len) {
    int taken = Math.min(len, block.produced - block.at);
    if (taken > 0) {
      copy(block.dst, block.at, b, off, taken);
      block.at += taken;
    }
    if (block.at == block.produced) {
      if (block.again) {
        block.again = false;
        block.state = State.FILLED;
      } else {
        block.state = State.FREE;
        head = (head + 1) % blocks.length;
        used--;
      }
    }
    return taken;
  }

  static void copy(ByteBuffer from, int at, byte[] b, int off, int len) {
    from.limit(at + len).position(at);
    from.get(b, off, len);
    from.clear();
  }

  /** Copies input into blocks, as far as there are free ones. */
  private void absorb() {
    while (userLength > 0) {
      if (filling == null) {
        if (used == blocks.length) {
          return;
        }
        begin();
      }
      int n = Math.min(userLength, settings.block - filling.to);
      System.arraycopy(user, userAt, text, filling.to, n);
      filling.to += n;
      userAt += n;
      userLength -= n;
      if (filling.to == settings.block) {
        filled();
      }
    }
    user = userLength == 0 ? NOTHING : user;
  }

  private void filled() {
    filling.src.clear();
    filling.src.put(text, 0, filling.to).clear();
    filling.state = State.FILLED;
    filling = null;
  }

  private void begin() {
    Block block = blocks[(head + used) % blocks.length];
    if (block.src == null) {
      block.src = lane.buffer(settings.block);
    }
    block.from = 0;
    block.to = 0;
    block.last = false;
    block.again = false;
    filling = block;
    begun = true;
    used++;
  }

  /** Nothing more comes: the block that is being filled is the last one, or an empty one is. */
  private void closeLast() {
    if (filling == null && (endsWithBlock() || !begun)) {
      if (used == blocks.length) {
        return;
      }
      begin();
    }
    if (filling != null) {
      filling.last = true;
      filled();
    }
    closed = true;
  }

  private void launch() throws IOException {
    int limit = inFlight(lane.device().engines());
    for (int i = 0; i < used; i++) {
      Block block = blocks[(head + i) % blocks.length];
      if (block.state == State.ANSWERED && block.again) {
        return;
      }
      if (block.state != State.FILLED) {
        continue;
      }
      if (lane.outstanding() >= limit) {
        return;
      }
      boolean first = !submitted;
      submitted = true;
      int room = room(lane, block.to);
      block.dst = block.dst == null ? lane.buffer(room) : lane.larger(block.dst, room);
      block.at = 0;
      block.produced = 0;
      block.state = State.IN_FLIGHT;
      if (first && block.last && submitWhole(here(), block)) {
        collect(here);
      } else {
        submit(block, first);
      }
    }
  }

  private void collect(Lane from) throws IOException {
    Lane.Answer answer = from.next();
    Block block = blocks[answer.tag];
    block.state = State.ANSWERED;
    answered(block, answer);
  }

  private void open() throws IOException {
    if (blocks != null) {
      return;
    }
    text = new byte[settings.block];
    Device device = Device.with(settings.engines);
    int flying = inFlight(device.engines());
    lane = new Lane(device, flying);
    blocks = new Block[device.engines() == 0 ? 1 : flying + 1];
    for (int i = 0; i < blocks.length; i++) {
      blocks[i] = new Block(i);
    }
  }

  private Lane here() throws IOException {
    if (here == null) {
      here = new Lane(Device.here(), 1);
    }
    return here;
  }

  static int usualInFlight(int engines) {
    return Math.max(1, Math.min(engines, MAX_IN_FLIGHT));
  }

  private void check() throws IOException {
    if (ended) {
      throw new IOException("compress called on closed compressor");
    }
    if (failure != null) {
      throw new IOException(failure.getMessage(), failure);
    }
  }

  @Override
  public synchronized void reset() {
    if (ended) {
      return;
    }
    boolean whole = failure == null;
    failure = null;
    try {
      if (lane != null) {
        lane.drain();
      }
    } catch (IOException e) {
      whole = false;
    }
    if (whole) {
      head = 0;
      for (int i = 0; blocks != null && i < blocks.length; i++) {
        blocks[i].state = State.FREE;
      }
    } else {
      // Of rings in doubt nothing is used again.
      free();
    }
    used = 0;
    filling = null;
    user = NOTHING;
    userLength = 0;
    finishing = false;
    finished = false;
    begun = false;
    submitted = false;
    closed = false;
    bytesRead = 0;
    bytesWritten = 0;
    forget();
  }

  @Override
  public synchronized void reinit(Configuration conf) {
    reset();
    Settings next = new Settings(conf == null ? new Configuration() : conf);
    if (next.engines != settings.engines || next.block != settings.block) {
      free();
    }
    settings = next;
  }

  @Override
  public synchronized void end() {
    ended = true;
    free();
  }

  private void free() {
    if (lane != null) {
      lane.close();
    }
    if (here != null) {
      here.close();
    }
    lane = null;
    here = null;
    blocks = null;
    text = null;
    head = 0;
  }
}
