import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * Sweeps java.util.zip over levels, strategies, formats, dictionaries, resets, splits of input and
 * output, and flushes. Prints a digest of everything that zlib promises: what was decompressed, the
 * counters and states on that side, checksums, and which inputs are refused. It is the same on
 * every zlib; compressed bytes, which are not, are decompressed and counted, not digested.
 *
 * <p>{@code java Sweep.java [trace]}: with an argument, also every number that goes into the digest,
 * to find the first that differs.
 */
public final class Sweep {
  private static final int[] STRATEGIES = {
    Deflater.DEFAULT_STRATEGY, Deflater.FILTERED, Deflater.HUFFMAN_ONLY
  };
  private static final int[] FLUSHES = {
    Deflater.NO_FLUSH, Deflater.SYNC_FLUSH, Deflater.FULL_FLUSH
  };

  private final MessageDigest digest;
  private boolean trace;
  private long cases;
  private long compressed;

  private Sweep() throws Exception {
    digest = MessageDigest.getInstance("SHA-256");
  }

  public static void main(String[] args) throws Exception {
    Sweep sweep = new Sweep();
    sweep.trace = args.length > 0;
    sweep.streams();
    sweep.part("streams");
    sweep.levelsChangedMidway();
    sweep.part("levels");
    sweep.buffers();
    sweep.part("buffers");
    sweep.containers();
    sweep.part("containers");
    sweep.damage();
    sweep.part("damage");
    sweep.checksums();
    sweep.part("checksums");
    // On the other stream: it differs from library to library.
    System.err.println("compressed bytes " + sweep.compressed);
  }

  /** Prints the digest of a part of the sweep. */
  private void part(String name) {
    StringBuilder hex = new StringBuilder();
    byte[] bytes = digest.digest();
    for (int i = 0; i < 8; i++) {
      hex.append(String.format("%02x", bytes[i]));
    }
    System.out.println(name + " " + cases + " " + hex);
  }

  private void note(long number) {
    if (trace) {
      System.out.println(cases + ": " + number);
    }
    for (int i = 0; i < 64; i += 8) {
      digest.update((byte) (number >>> i));
    }
  }

  private void note(byte[] bytes, int length) {
    note(length);
    digest.update(bytes, 0, length);
  }

  private static byte[] data(int kind, int length, long seed) {
    Random random = new Random(seed);
    byte[] bytes = new byte[length];
    switch (kind) {
      case 0:
        random.nextBytes(bytes);
        break;
      case 1:
        for (int i = 0; i < length; i++) {
          bytes[i] = (byte) ("etaoin shrdlu\n".charAt(Math.min(random.nextInt(14), random.nextInt(14))));
        }
        break;
      case 2:
        // Repeats at all distances, also beyond the window.
        for (int i = 0; i < length; ) {
          int from = i == 0 ? 0 : random.nextInt(i);
          int n = Math.min(1 + random.nextInt(300), length - i);
          for (int k = 0; k < n; k++, i++) {
            bytes[i] = i == 0 || k > 250 ? (byte) random.nextInt() : bytes[Math.min(from + k, i - 1)];
          }
        }
        break;
      default:
        Arrays.fill(bytes, (byte) 'a');
    }
    return bytes;
  }

  private static void check(boolean good, String what) {
    if (!good) {
      throw new AssertionError(what);
    }
  }

  /** Every level, strategy, format, with and without a dictionary, in different splits. */
  private void streams() throws DataFormatException {
    Random random = new Random(1);
    int[] lengths = {0, 1, 2, 100, 4_096, 32_768, 70_000, 300_000};
    for (int level = -1; level <= 9; level++) {
      for (int strategy : STRATEGIES) {
        for (boolean nowrap : new boolean[] {false, true}) {
          Deflater deflater = new Deflater(level, nowrap);
          deflater.setStrategy(strategy);
          Inflater inflater = new Inflater(nowrap);
          for (int length : lengths) {
            // In a sample, what is longer than all buffers has the usual strategy and format.
            boolean usual = !nowrap && strategy == Deflater.DEFAULT_STRATEGY;
            if (length == 300_000 && !usual && !"all".equals(System.getenv("SWEEP"))) {
              continue;
            }
            for (int kind = 0; kind < 4; kind++) {
              byte[] data = data(kind, length, length + kind);
              byte[] dictionary =
                  random.nextInt(3) == 0 ? data(kind, 1 + random.nextInt(40_000), length) : null;
              int most = 1 << random.nextInt(18);
              byte[] stream = deflate(deflater, data, dictionary, most, random);
              inflate(inflater, stream, data, dictionary, nowrap, 1 << random.nextInt(18), random);
              deflater.reset();
              inflater.reset();
              cases++;
            }
          }
          deflater.end();
          inflater.end();
        }
      }
    }
  }

  private byte[] deflate(
      Deflater deflater, byte[] data, byte[] dictionary, int most, Random random) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    // A flush into less than 6 bytes would write markers without end.
    byte[] room = new byte[16 + random.nextInt(2 * most)];
    if (dictionary != null) {
      deflater.setDictionary(dictionary);
    }
    for (int at = 0; at < data.length; ) {
      int n = Math.min(1 + random.nextInt(most), data.length - at);
      deflater.setInput(data, at, n);
      at += n;
      int flush = random.nextInt(10) < 8 ? Deflater.NO_FLUSH : FLUSHES[random.nextInt(3)];
      int got;
      do {
        got = deflater.deflate(room, 0, room.length, flush);
        out.write(room, 0, got);
      } while (got == room.length || !deflater.needsInput());
      if (flush != Deflater.NO_FLUSH && dictionary == null && data.length < 5_000) {
        // What was given so far is there.
        byte[] so = out.toByteArray();
        check(so.length > 0, "a flush of nothing");
      }
    }
    deflater.finish();
    while (!deflater.finished()) {
      out.write(room, 0, deflater.deflate(room));
    }
    check(deflater.getBytesRead() == data.length, "bytes read");
    check(deflater.getBytesWritten() == out.size(), "bytes written");
    check(deflater.deflate(room) == 0, "behind the end");
    note(deflater.getAdler());
    compressed += out.size();
    return out.toByteArray();
  }

  private void inflate(
      Inflater inflater, byte[] stream, byte[] data, byte[] dictionary, boolean nowrap, int most,
      Random random) throws DataFormatException {
    byte[] padded = Arrays.copyOf(stream, stream.length + 5);
    byte[] out = new byte[data.length + 10];
    if (nowrap && dictionary != null) {
      inflater.setDictionary(dictionary);
    }
    int at = 0;
    int got = 0;
    while (!inflater.finished()) {
      if (inflater.needsInput()) {
        check(at < padded.length, "more wanted than there is");
        int n = Math.min(1 + random.nextInt(most), padded.length - at);
        inflater.setInput(padded, at, n);
        at += n;
      }
      got += inflater.inflate(out, got, Math.min(1 + random.nextInt(most), out.length - got));
      if (inflater.needsDictionary()) {
        Adler32 adler = new Adler32();
        adler.update(dictionary);
        check(inflater.getAdler() == (int) adler.getValue(), "the dictionary's checksum");
        inflater.setDictionary(dictionary);
      }
    }
    check(got == data.length && Arrays.equals(data, Arrays.copyOf(out, got)), "the data");
    check(padded.length - at + inflater.getRemaining() == 5, "what remains");
    check(inflater.getBytesRead() == stream.length, "bytes read");
    check(inflater.getBytesWritten() == data.length, "bytes written");
    note(out, got);
    note(inflater.getAdler());
    note(inflater.finished() ? 1 : 0);
  }

  /** setLevel and setStrategy between pieces: one stream all the same. */
  private void levelsChangedMidway() throws DataFormatException {
    for (int seed = 0; seed < 150; seed++) {
      Random random = new Random(seed);
      Deflater deflater = new Deflater(random.nextInt(10), seed % 2 == 0);
      Inflater inflater = new Inflater(seed % 2 == 0);
      byte[] data = data(seed % 4, 200_000, seed);
      byte[] room = new byte[1 + random.nextInt(60_000)];
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      for (int at = 0; at < data.length; ) {
        if (random.nextInt(3) == 0) {
          deflater.setLevel(random.nextInt(11) - 1);
        }
        if (random.nextInt(3) == 0) {
          deflater.setStrategy(STRATEGIES[random.nextInt(3)]);
        }
        int n = Math.min(1 + random.nextInt(50_000), data.length - at);
        deflater.setInput(data, at, n);
        at += n;
        while (!deflater.needsInput()) {
          out.write(room, 0, deflater.deflate(room));
        }
      }
      deflater.finish();
      while (!deflater.finished()) {
        out.write(room, 0, deflater.deflate(room));
      }
      byte[] stream = out.toByteArray();
      compressed += stream.length;
      inflate(inflater, stream, data, null, seed % 2 == 0, 1 << random.nextInt(18), random);
      deflater.end();
      inflater.end();
      cases++;
    }
  }

  /** Byte buffers, direct and not, on both sides. */
  private void buffers() throws DataFormatException {
    for (int seed = 0; seed < 100; seed++) {
      Random random = new Random(seed);
      byte[] data = data(seed % 4, random.nextInt(150_000), seed);
      Deflater deflater = new Deflater(1 + seed % 9);
      ByteBuffer src = buffer(random, data.length);
      src.put(data).flip();
      deflater.setInput(src);
      deflater.finish();
      ByteBuffer stream = buffer(random, data.length + data.length / 100 + 100);
      while (!deflater.finished()) {
        stream.limit(Math.min(stream.capacity(), stream.position() + 1 + random.nextInt(9_000)));
        deflater.deflate(stream);
      }
      check(!src.hasRemaining(), "the source is not taken");
      stream.flip();
      compressed += stream.remaining();
      Inflater inflater = new Inflater();
      inflater.setInput(stream);
      ByteBuffer out = buffer(random, data.length + 1);
      while (!inflater.finished()) {
        out.limit(Math.min(out.capacity(), out.position() + 1 + random.nextInt(9_000)));
        inflater.inflate(out);
      }
      out.flip();
      byte[] got = new byte[out.remaining()];
      out.get(got);
      check(Arrays.equals(data, got) && !stream.hasRemaining(), "buffers");
      note(got, got.length);
      deflater.end();
      inflater.end();
      cases++;
    }
  }

  private static ByteBuffer buffer(Random random, int size) {
    return random.nextBoolean() ? ByteBuffer.allocate(size) : ByteBuffer.allocateDirect(size);
  }

  /** gzip, zip, and a stream that flushes, as java.util.zip makes them. */
  private void containers() throws IOException {
    for (int seed = 0; seed < 40; seed++) {
      byte[] data = data(seed % 4, seed * 7_777, seed);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (GZIPOutputStream gzip = new GZIPOutputStream(out, 512 << seed % 8, seed % 2 == 0)) {
        for (int at = 0; at < data.length; at += 10_000) {
          gzip.write(data, at, Math.min(10_000, data.length - at));
          gzip.flush();
        }
      }
      compressed += out.size();
      byte[] got = new GZIPInputStream(new ByteArrayInputStream(out.toByteArray())).readAllBytes();
      check(Arrays.equals(data, got), "gzip");
      note(got, got.length);

      out.reset();
      try (ZipOutputStream zip = new ZipOutputStream(out)) {
        for (int level = 0; level <= 9; level++) {
          zip.setLevel(level);
          zip.putNextEntry(new ZipEntry("entry " + level));
          zip.write(data);
          zip.closeEntry();
        }
      }
      compressed += out.size();
      try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(out.toByteArray()))) {
        for (int level = 0; level <= 9; level++) {
          ZipEntry entry = zip.getNextEntry();
          got = zip.readAllBytes();
          check(Arrays.equals(data, got) && entry.getName().equals("entry " + level), "zip");
          zip.closeEntry();
          note(entry.getCrc());
        }
      }

      out.reset();
      Deflater deflater = new Deflater(1 + seed % 9, true);
      try (DeflaterOutputStream sync = new DeflaterOutputStream(out, deflater, 300, true)) {
        for (int at = 0; at < data.length; at += 30_000) {
          sync.write(data, at, Math.min(30_000, data.length - at));
          sync.flush();
        }
      }
      deflater.end();
      compressed += out.size();
      cases += 3;
    }
  }

  /** Damaged streams, all of stored blocks, so that every zlib sees the same: refused or not. */
  private void damage() {
    Deflater deflater = new Deflater(Deflater.NO_COMPRESSION);
    // One stored block in every zlib: less than 65,535 bytes, in one call with room for it.
    byte[] data = data(1, 20_000, 9);
    byte[] stream = new byte[30_000];
    deflater.setInput(data);
    deflater.finish();
    int length = deflater.deflate(stream);
    deflater.end();
    check(length == data.length + 11, "a stored block is " + length);
    Random random = new Random(10);
    for (int i = 0; i < 2_000; i++) {
      byte[] bad = Arrays.copyOf(stream, length);
      int bit = i < 7 * 8 ? i : random.nextInt(length * 8);
      bad[bit / 8] ^= (byte) (1 << bit % 8);
      note(refused(bad, i % 2 == 0 ? length : random.nextInt(length)));
      cases++;
    }
    for (int i = 0; i < 2_000; i++) {
      byte[] noise = new byte[1 + random.nextInt(300)];
      random.nextBytes(noise);
      noise[0] = 0x78;
      if (noise.length > 1) {
        noise[1] = (byte) (i % 2 == 0 ? 0x9c : noise[1]);
      }
      note(refused(noise, noise.length));
      cases++;
    }
  }

  private int refused(byte[] stream, int length) {
    Inflater inflater = new Inflater();
    try {
      inflater.setInput(stream, 0, length);
      byte[] out = new byte[40_000];
      int got = 0;
      while (!inflater.finished() && got < out.length) {
        int n = inflater.inflate(out, got, out.length - got);
        if (n == 0 && (inflater.needsInput() || inflater.needsDictionary())) {
          note(out, got);
          return inflater.needsDictionary() ? 2 : 3;
        }
        got += n;
      }
      note(out, got);
      return 1;
    } catch (DataFormatException e) {
      note(String.valueOf(e.getMessage()).hashCode());
      return 0;
    } finally {
      inflater.end();
    }
  }

  private void checksums() {
    Random random = new Random(11);
    byte[] data = data(0, 100_000, 12);
    ByteBuffer direct = ByteBuffer.allocateDirect(data.length);
    direct.put(data);
    for (int i = 0; i < 500; i++) {
      int from = random.nextInt(data.length);
      int n = random.nextInt(data.length - from);
      CRC32 crc = new CRC32();
      Adler32 adler = new Adler32();
      crc.update(data, from, n / 2);
      crc.update(data, from + n / 2, n - n / 2);
      adler.update(data, from, n / 2);
      adler.update(data, from + n / 2, n - n / 2);
      Adler32 other = new Adler32();
      direct.limit(from + n).position(from);
      other.update(direct);
      direct.clear();
      check(adler.getValue() == other.getValue(), "adler");
      note(crc.getValue());
      note(adler.getValue());
      cases++;
    }
  }
}
