package org.lookaside.hadoop;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;

/** Makes every block a gzip member of its own, with its lengths in the header: see {@link Member}. */
public class LookasideGzipCompressor extends LookasideCompressor {
  /** One that {@code conf} describes. */
  public LookasideGzipCompressor(Configuration conf) {
    super(conf);
  }

  @Override
  int inFlight(int engines) {
    return usualInFlight(engines);
  }

  @Override
  boolean endsWithBlock() {
    return false;
  }

  @Override
  int room(Lane lane, int length) {
    return Member.HEADER
        + Math.toIntExact(Native.bound(session(lane, settings.huffman), length))
        + Member.TRAILER;
  }

  private long session(Lane lane, int huffman) {
    return lane.device().session(Native.RAW, settings.level, huffman);
  }

  @Override
  void submit(Block block, boolean first) throws IOException {
    push(lane, block);
  }

  @Override
  boolean submitWhole(Lane here, Block block) throws IOException {
    push(here, block);
    return true;
  }

  private void push(Lane lane, Block block) throws IOException {
    lane.push(
        Native.COMPRESS,
        session(lane, settings.huffman),
        block.number,
        block.src,
        0,
        block.to,
        block.dst,
        Member.HEADER,
        block.dst.capacity() - Member.HEADER - Member.TRAILER);
  }

  @Override
  void answered(Block block, Lane.Answer answer) throws IOException {
    if (answer.status != Native.END) {
      throw Device.failure(answer.status);
    }
    block.produced =
        Member.wrap(block.dst, answer.produced, settings.level, answer.checksum, block.to);
    if (Native.find(block.dst, 1, block.produced - 1, Member.MARK) >= 0) {
      withoutMark(block);
    }
  }

  /**
   * A mark within a member: the text is a file of ours that does not compress, or was made to
   * deceive. It becomes several members, cut through the marks, so that none stands in one piece.
   */
  private void withoutMark(Block block) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream(block.produced);
    try (Lane here = new Lane(Device.here(), 1)) {
      ByteBuffer dst = here.buffer(room(here, block.to));
      cut(here, block.src, 0, block.to, dst, out);
    }
    byte[] members = out.toByteArray();
    block.dst = lane.larger(block.dst, members.length);
    block.dst.clear();
    block.dst.put(members).clear();
    block.produced = members.length;
  }

  private void cut(
      Lane here, ByteBuffer src, int from, int to, ByteBuffer dst, ByteArrayOutputStream out)
      throws IOException {
    int length = to - from;
    // Fixed codes are not whole bytes long, so they do not show what the text spells.
    for (int huffman : new int[] {settings.huffman, Native.STATIC}) {
      here.push(
          Native.COMPRESS,
          session(here, huffman),
          0,
          src,
          from,
          length,
          dst,
          Member.HEADER,
          dst.capacity() - Member.HEADER - Member.TRAILER);
      Lane.Answer answer = here.next();
      if (answer.status != Native.END) {
        throw Device.failure(answer.status);
      }
      int produced =
          Member.wrap(dst, answer.produced, settings.level, answer.checksum, length);
      if (Native.find(dst, 1, produced - 1, Member.MARK) < 0) {
        byte[] member = new byte[produced];
        copy(dst, 0, member, 0, produced);
        out.write(member);
        return;
      }
      if (length <= 1) {
        throw new IOException("Lookaside: a member of one byte with a mark in it");
      }
      int mark = Native.find(src, from, length, Member.MARK);
      if (mark >= 0) {
        int middle = mark + Member.MARK_LENGTH / 2;
        cut(here, src, from, middle, dst, out);
        cut(here, src, middle, to, dst, out);
        return;
      }
    }
    int middle = from + length / 2;
    cut(here, src, from, middle, dst, out);
    cut(here, src, middle, to, dst, out);
  }
}
