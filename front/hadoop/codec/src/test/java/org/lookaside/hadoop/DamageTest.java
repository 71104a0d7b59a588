package org.lookaside.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bad input is an IOException, at the latest where GzipCodec and DefaultCodec have one. */
@Timeout(300)
class DamageTest {
  /** What a codec makes of it, or null for an IOException. */
  private static byte[] read(CompressionCodec codec, byte[] compressed) {
    try {
      return Samples.decompress(codec, compressed);
    } catch (IOException e) {
      assertNotNull(e.getMessage());
      return null;
    }
  }

  private static void check(
      CompressionCodec ours, CompressionCodec theirs, byte[] bad, byte[] data, String what) {
    byte[] got = read(ours, bad);
    byte[] wanted = read(theirs, bad);
    if (wanted == null) {
      assertTrue(got == null, what + ": only theirs fails");
    }
    if (got != null) {
      assertArrayEquals(wanted, got, what);
      assertArrayEquals(data, got, what);
    }
  }

  @Test
  void everyCutFails() throws IOException {
    byte[] data = Samples.text(20_000, 1);
    for (boolean gzip : new boolean[] {true, false}) {
      var ours = gzip ? Samples.ours(Samples.conf(1)) : Samples.ourDeflate(Samples.conf(1));
      var theirs = gzip ? Samples.gzip() : Samples.deflate();
      for (CompressionCodec writer : List.of(ours, theirs)) {
        byte[] whole = Samples.compress(writer, data);
        for (int n = 0; n < whole.length; n += n < 40 || n > whole.length - 12 ? 1 : 37) {
          byte[] cut = Arrays.copyOf(whole, n);
          byte[] got = read(ours, cut);
          byte[] wanted = read(theirs, cut);
          // Between two members there is an end like any other.
          assertTrue(got == null || Arrays.equals(got, wanted), "cut at " + n);
          assertTrue(wanted != null || got == null, "cut at " + n);
        }
      }
    }
  }

  @Test
  void flippedBits() throws IOException {
    byte[] data = Samples.text(3 * Samples.BLOCK, 2);
    Random random = new Random(3);
    for (boolean gzip : new boolean[] {true, false}) {
      var ours = gzip ? Samples.ours(Samples.conf(1)) : Samples.ourDeflate(Samples.conf(1));
      var theirs = gzip ? Samples.gzip() : Samples.deflate();
      for (CompressionCodec writer : List.of(ours, theirs)) {
        byte[] whole = Samples.compress(writer, data);
        for (int i = 0; i < 32 * 8 + 300; i++) {
          int bit = i < 32 * 8 ? i : random.nextInt(whole.length * 8);
          byte[] bad = whole.clone();
          bad[bit / 8] ^= (byte) (1 << bit % 8);
          // Bits that say nothing of the data may flip: a time, an operating system.
          check(ours, theirs, bad, data, "bit " + bit);
        }
      }
    }
  }

  @Test
  void whatIsNoGzip() throws IOException {
    byte[] data = Samples.text(10_000, 4);
    CompressionCodec ours = Samples.ours(Samples.conf(1));
    byte[] good = Samples.compress(ours, data);
    for (int i = 0; i < 50; i++) {
      byte[] noise = Samples.noise(1 + i * 11, i);
      check(ours, Samples.gzip(), noise, data, "noise " + i);
      check(ours, Samples.gzip(), Samples.joined(good, noise), data, "noise behind " + i);
      check(Samples.ourDeflate(Samples.conf(1)), Samples.deflate(), noise, data, "zlib " + i);
    }
    check(ours, Samples.gzip(), Samples.joined(good, new byte[100]), data, "zeros behind");
  }

  @Test
  void afterAFailureTheDecompressorIsUsedAgain() throws IOException {
    byte[] data = Samples.text(10_000, 5);
    for (boolean gzip : new boolean[] {true, false}) {
      var codec = gzip ? Samples.ours(Samples.conf(1)) : Samples.ourDeflate(Samples.conf(1));
      for (int i = 0; i < 10; i++) {
        assertTrue(read(codec, Samples.noise(1000, i)) == null);
        byte[] theirs = Samples.compress(gzip ? Samples.gzip() : Samples.deflate(), data);
        assertArrayEquals(data, read(codec, theirs));
      }
    }
  }
}
