import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * Java's Deflater and Inflater in all ways: {@code write FOLDER} writes streams, {@code read FOLDER}
 * decodes those that any library wrote, and prints what must not depend on the library.
 */
public final class Sweep {
  private static final int[] STRATEGIES = {
    Deflater.DEFAULT_STRATEGY, Deflater.FILTERED, Deflater.HUFFMAN_ONLY
  };
  private static final int[] FLUSHES = {Deflater.NO_FLUSH, Deflater.SYNC_FLUSH, Deflater.FULL_FLUSH};
  private static final byte[] DICTIONARY =
      "the dictionary that both sides know: lorem ipsum dolor sit amet".getBytes(StandardCharsets.UTF_8);

  private Sweep() {}

  private static List<byte[]> texts() {
    Random random = new Random(3);
    StringBuilder prose = new StringBuilder();
    String[] words = {"lorem ", "ipsum ", "dolor ", "sit\n", "amet, ", "0123 "};
    while (prose.length() < 900_000) {
      prose.append(words[random.nextInt(words.length)]).append(random.nextInt(50));
    }
    byte[] all = prose.toString().getBytes(StandardCharsets.UTF_8);
    byte[] noise = new byte[5000];
    random.nextBytes(noise);
    return List.of(new byte[0], new byte[] {7}, new byte[3000], Arrays.copyOf(all, 100),
        Arrays.copyOf(all, 70_000), noise, all);
  }

  /** One stream; the input comes and the output goes in pieces. */
  private static byte[] deflate(Deflater d, byte[] text, int step, int room, int flush, Random random) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] piece = new byte[room];
    for (int at = 0; at < text.length; at += step) {
      int len = Math.min(step, text.length - at);
      if (random.nextInt(3) == 0) {
        ByteBuffer direct = ByteBuffer.allocateDirect(len);
        direct.put(text, at, len).flip();
        d.setInput(direct);
      } else {
        d.setInput(text, at, len);
      }
      int n;
      do {
        n = d.deflate(piece, 0, room, flush);
        out.write(piece, 0, n);
      } while (n == room || !d.needsInput());
    }
    d.finish();
    while (!d.finished()) {
      out.write(piece, 0, d.deflate(piece));
    }
    if (d.getBytesRead() != text.length || d.getBytesWritten() != out.size()) {
      throw new IllegalStateException("counters");
    }
    return out.toByteArray();
  }

  private static void write(Path folder) throws IOException {
    Random random = new Random(11);
    int number = 0;
    for (byte[] text : texts()) {
      try (DataOutputStream file =
          new DataOutputStream(Files.newOutputStream(folder.resolve(number++ + ".streams")))) {
        boolean large = text.length > 100_000;
        for (boolean raw : new boolean[] {false, true}) {
          for (int level = -1; level <= 9; level++) {
            Deflater d = new Deflater(level, raw);
            for (int turn = 0; turn < (large ? 2 : 6); turn++) {
              boolean dictionary = turn % 3 == 2;
              if (dictionary) {
                d.setDictionary(DICTIONARY);
              }
              int step = large ? 1 + random.nextInt(900_000) : 1 + random.nextInt(text.length + 1);
              if (step < text.length / 50) {
                step = text.length / 50;
              }
              if (turn > 0) {
                d.setStrategy(STRATEGIES[turn % 3]);
                d.setLevel(random.nextInt(11) - 1);
              }
              byte[] stream = deflate(d, text, step, large ? 65536 : 64 + random.nextInt(5000), FLUSHES[turn % 3], random);
              file.writeInt(raw ? 1 : 0);
              file.writeInt(dictionary ? 1 : 0);
              file.writeInt(stream.length);
              file.write(stream);
              d.reset();
            }
            d.end();
          }
        }
        for (int kind = 2; kind < 5; kind++) {
          ByteArrayOutputStream bytes = new ByteArrayOutputStream();
          if (kind == 2) {
            try (GZIPOutputStream out = new GZIPOutputStream(bytes, 4096, true)) {
              out.write(text, 0, text.length / 2);
              out.flush();
              out.write(text, text.length / 2, text.length - text.length / 2);
            }
          } else if (kind == 3) {
            try (DeflaterOutputStream out = new DeflaterOutputStream(bytes, new Deflater(3), 512, true)) {
              out.write(text);
              out.flush();
            }
          } else {
            try (ZipOutputStream out = new ZipOutputStream(bytes)) {
              out.putNextEntry(new ZipEntry("name"));
              out.write(text);
              out.closeEntry();
            }
          }
          file.writeInt(kind);
          file.writeInt(0);
          file.writeInt(bytes.size());
          bytes.writeTo(file);
        }
      }
    }
  }

  private static byte[] inflate(boolean raw, byte[] stream, int step, int room) throws DataFormatException {
    Inflater i = new Inflater(raw);
    byte[] given = Arrays.copyOf(stream, stream.length + 7);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] piece = new byte[room];
    int at = 0;
    try {
      while (!i.finished()) {
        int n = i.inflate(piece);
        out.write(piece, 0, n);
        if (n == 0 && i.needsDictionary()) {
          i.setDictionary(DICTIONARY);
        } else if (n == 0 && !i.finished() && i.needsInput()) {
          int len = Math.min(step, given.length - at);
          i.setInput(given, at, len);
          at += len;
        }
      }
      if (at - i.getRemaining() != stream.length || i.getBytesRead() != stream.length) {
        throw new IllegalStateException("the end is at " + (at - i.getRemaining()) + " of " + stream.length);
      }
      return out.toByteArray();
    } finally {
      i.end();
    }
  }

  private static String outcome(byte[] stream) {
    Inflater i = new Inflater();
    byte[] out = new byte[1000];
    i.setInput(stream);
    try {
      int n = i.inflate(out);
      return n + " " + i.getRemaining() + " " + i.finished() + " " + i.needsInput() + " " + i.needsDictionary() + " "
          + i.getAdler();
    } catch (DataFormatException why) {
      return why.getMessage() + " " + i.getBytesWritten();
    } finally {
      i.end();
    }
  }

  private static void read(Path folder) throws IOException, DataFormatException {
    int number = 0;
    for (byte[] text : texts()) {
      int count = 0;
      byte[] file = Files.readAllBytes(folder.resolve(number++ + ".streams"));
      DataInputStream in = new DataInputStream(new ByteArrayInputStream(file));
      boolean large = text.length > 100_000;
      while (in.available() > 0) {
        int kind = in.readInt();
        boolean dictionary = in.readInt() == 1;
        byte[] stream = in.readNBytes(in.readInt());
        byte[] got;
        if (kind < 2) {
          // A raw stream does not say that it needs one.
          if (kind == 1 && dictionary) {
            Inflater i = new Inflater(true);
            i.setDictionary(DICTIONARY);
            i.setInput(stream);
            got = new byte[text.length];
            int n = 0;
            while (n < got.length) {
              n += i.inflate(got, n, got.length - n);
            }
            i.end();
          } else {
            got = inflate(kind == 1, stream, 1 + (large ? 50_000 : count * 7 % 300), 1 + (large ? 80_000 : count * 13 % 900));
          }
        } else if (kind == 2) {
          got = new GZIPInputStream(new ByteArrayInputStream(stream)).readAllBytes();
        } else if (kind == 3) {
          got = new InflaterInputStream(new ByteArrayInputStream(stream), new Inflater(), 100).readAllBytes();
        } else {
          ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(stream));
          zip.getNextEntry();
          got = zip.readAllBytes();
        }
        if (!Arrays.equals(text, got)) {
          throw new IllegalStateException("stream " + count + " of text " + (number - 1) + " decodes to something else");
        }
        count++;
      }
      CRC32 crc = new CRC32();
      Adler32 adler = new Adler32();
      crc.update(text);
      adler.update(text);
      System.out.println("text " + (number - 1) + ": " + count + " streams " + crc.getValue() + " " + adler.getValue());
    }
    // A stream that is the same whatever the library: cut and damaged.
    byte[] fixed = {0x78, (byte) 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0x00, 0x02, 0x4d, 0x01, 0x27};
    for (int n = 0; n <= fixed.length; n++) {
      System.out.println(n + " " + outcome(Arrays.copyOf(fixed, n)));
      for (int bit = 0; n < fixed.length && bit < 8; bit++) {
        byte[] damaged = fixed.clone();
        damaged[n] ^= (byte) (1 << bit);
        System.out.println(n + "." + bit + " " + outcome(damaged));
      }
    }
    List<String> libraries = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
      String name = line.substring(line.lastIndexOf(' ') + 1);
      if (name.contains("libz.so") && !libraries.contains(name)) {
        libraries.add(name);
      }
    }
    System.err.println(String.join(" ", libraries));
  }

  /** Writes or reads. */
  public static void main(String[] args) throws IOException, DataFormatException {
    Path folder = Path.of(args[1]);
    if (args[0].equals("write")) {
      write(folder);
    } else {
      read(folder);
    }
  }
}
