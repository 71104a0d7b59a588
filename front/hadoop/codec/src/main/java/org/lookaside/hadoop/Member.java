package org.lookaside.hadoop;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The header of an indexed gzip member: the one that parcomp writes (front/parcomp/src/gzip.rs), a
 * standard gzip header with the member's two lengths in its extra field.
 *
 * <pre>
 *  0  1f 8b 08 04   magic, DEFLATE, an extra field
 *  4  00000000      no time
 *  8  XFL, OS       OS: 3, see below; parcomp: 255
 * 10  0c 00         the extra field's length
 * 12  'L' 'A' 8 0   its one subfield
 * 16  u32           length of the whole member
 * 20  u32           length of its data
 * 24  ...           DEFLATE, then CRC-32 and length as ever
 * </pre>
 *
 * <p>{@link LookasideCodec} sees to it that the first sixteen bytes, the mark, stand nowhere within
 * a member that it writes, not even when it stores a file of its own. So who begins in the middle
 * of a file finds the next member by its mark. The operating system's number tells such members
 * from those of parcomp, which gives no such promise: its files are read, but not split.
 */
final class Member {
  static final int HEADER = 24;
  static final int TRAILER = 8;
  static final int MARK_LENGTH = 16;

  /** The bytes that begin a member; those at 8 and 9 differ. */
  static final byte[] MARK = {
    0x1f, (byte) 0x8b, 8, 4, 0, 0, 0, 0, 0, 3, 12, 0, 'L', 'A', 8, 0
  };

  private static final int UNMARKED_FROM = 8;
  private static final int UNMARKED_TO = 10;
  private static final int OS = 9;
  /** The most that DEFLATE can expand: 2 bits stand for 258 bytes. */
  private static final long MAX_EXPANSION = 1032;

  /** Bytes of the member. */
  final int length;
  /** Bytes of its data. */
  final int data;
  /** Whether the mark stands at the start of members alone, here and in what follows. */
  final boolean splittable;

  private Member(int length, int data, boolean splittable) {
    this.length = length;
    this.data = data;
    this.splittable = splittable;
  }

  /** The member that begins at {@code at}, if it is indexed and its lengths are possible. */
  static Member read(byte[] bytes, int at, int available) {
    if (available < HEADER || !marked(bytes, at)) {
      return null;
    }
    ByteBuffer words = ByteBuffer.wrap(bytes, at, HEADER).order(ByteOrder.LITTLE_ENDIAN);
    int length = words.getInt(at + 16);
    int data = words.getInt(at + 20);
    long body = (long) length - HEADER - TRAILER;
    boolean possible = body >= 2 && data >= 0 && data <= body * MAX_EXPANSION;
    return possible ? new Member(length, data, bytes[at + OS] == MARK[OS]) : null;
  }

  /** Whether the mark stands at {@code at}. */
  static boolean marked(byte[] bytes, int at) {
    for (int i = 0; i < MARK_LENGTH; i++) {
      if (bytes[at + i] != MARK[i] && (i < UNMARKED_FROM || i >= UNMARKED_TO)) {
        return false;
      }
    }
    return true;
  }

  /** Writes header and trailer around the body that stands in the buffer; answers the length. */
  static int wrap(ByteBuffer member, int body, int level, int crc, int data) {
    int length = HEADER + body + TRAILER;
    for (int i = 0; i < MARK_LENGTH; i++) {
      member.put(i, MARK[i]);
    }
    member.put(UNMARKED_FROM, (byte) (level == 1 ? 4 : level >= 9 ? 2 : 0));
    member.putInt(16, length);
    member.putInt(20, data);
    member.putInt(HEADER + body, crc);
    member.putInt(HEADER + body + 4, data);
    return length;
  }
}
