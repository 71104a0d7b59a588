package org.lookaside.textsort;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;

/**
 * Writes the input of TextSort: gzip files of text records, the same bytes for the same arguments.
 *
 * <p>A record is a line {@code key TAB value}. The shape is that of Hadoop's RandomTextWriter, which
 * the sort benchmarks of Hadoop and HiBench read: a key of a few words and a value of ten to a
 * hundred. Two things differ. Words follow each other as in prose (frequencies by Zipf's law, and
 * every word has followers that it prefers), because DEFLATE would see no repeats but single words
 * otherwise; and fields of logs stand before the words: a date, a number, an amount. Keys end with
 * a number that no other record has, so that there is one sorted order and not several.
 */
public final class Generator {
  private static final int WORDS = 24_000;
  private static final int FOLLOWERS = 8;
  /** A prime, so that {@code i * STEP mod PRIME} takes every value once. */
  private static final long PRIME = 999_999_937L;

  private static final long STEP = 618_033_989L;

  private final byte[][] words = new byte[WORDS][];
  private final int[] ranks = new int[1 << 20];
  private final short[][] followers = new short[WORDS][FOLLOWERS];
  private final SplittableRandom random;
  private byte[] line = new byte[1 << 16];
  private int length;
  private long records;

  private Generator(long seed) {
    random = new SplittableRandom(seed);
    makeWords();
    makeRanks();
    for (short[] list : followers) {
      for (int i = 0; i < FOLLOWERS; i++) {
        list[i] = (short) rank();
      }
    }
  }

  /** {@code FOLDER FILES BYTES [SEED]}: so many files of about so many bytes of text each. */
  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    int files = Integer.parseInt(args[1]);
    long bytes = Long.parseLong(args[2]);
    Generator generator = new Generator(args.length > 3 ? Long.parseLong(args[3]) : 5);
    Files.createDirectories(folder);
    long total = 0;
    for (int i = 0; i < files; i++) {
      Path file = folder.resolve(String.format("text-%03d.gz", i));
      try (OutputStream out = new Gzip(Files.newOutputStream(file))) {
        total += generator.write(out, bytes);
      }
    }
    System.out.println("records=" + generator.records);
    System.out.println("text_bytes=" + total);
  }

  /** gzip(1) at its default level, which is how text files come to be in a file system. */
  private static final class Gzip extends GZIPOutputStream {
    Gzip(OutputStream out) throws IOException {
      super(new BufferedOutputStream(out, 1 << 16), 1 << 16);
      def.setLevel(Deflater.DEFAULT_COMPRESSION);
    }
  }

  private long write(OutputStream out, long bytes) throws IOException {
    long written = 0;
    while (written < bytes) {
      record();
      out.write(line, 0, length);
      written += length;
    }
    return written;
  }

  private void record() {
    length = 0;
    text(random.nextInt(3, 8));
    line[length++] = ' ';
    number((++records * STEP) % PRIME, 9);
    line[length++] = '\t';
    number(2004 + random.nextInt(10), 4);
    line[length++] = '-';
    number(1 + random.nextInt(12), 2);
    line[length++] = '-';
    number(1 + random.nextInt(28), 2);
    line[length++] = ' ';
    number(random.nextInt(1_000_000), 6);
    line[length++] = ' ';
    number(random.nextInt(500), 1);
    line[length++] = '.';
    number(random.nextInt(100), 2);
    line[length++] = ' ';
    text(random.nextInt(10, 101));
    line[length++] = '\n';
  }

  private void text(int count) {
    int word = rank();
    for (int i = 0; i < count; i++) {
      if (i > 0) {
        line[length++] = ' ';
        // The first followers are the likeliest.
        word = random.nextInt(100) < 75
            ? followers[word][Math.min(random.nextInt(FOLLOWERS), random.nextInt(FOLLOWERS))]
            : rank();
      }
      byte[] letters = words[word];
      System.arraycopy(letters, 0, line, length, letters.length);
      length += letters.length;
    }
  }

  private void number(long value, int digits) {
    String text = Long.toString(value);
    for (int i = text.length(); i < digits; i++) {
      line[length++] = '0';
    }
    for (int i = 0; i < text.length(); i++) {
      line[length++] = (byte) text.charAt(i);
    }
  }

  private int rank() {
    return ranks[random.nextInt(ranks.length)];
  }

  /** Each rank as often as Zipf's law has it among a million words. */
  private void makeRanks() {
    double sum = 0;
    for (int i = 0; i < WORDS; i++) {
      sum += 1.0 / (i + 2.7);
    }
    double until = 0;
    int at = 0;
    for (int i = 0; i < WORDS; i++) {
      until += ranks.length / sum / (i + 2.7);
      while (at < until && at < ranks.length) {
        ranks[at++] = i;
      }
    }
    while (at < ranks.length) {
      ranks[at++] = 0;
    }
  }

  /** Words of syllables; those that come often are short. */
  private void makeWords() {
    String[] starts = "b c d f g h j k l m n p r s t v w st tr pr th ch sh br pl gr".split(" ");
    String[] vowels = "a e i o u a e i o ea ou ai".split(" ");
    String[] ends = "n r s t l d m ng nd st ck x".split(" ");
    List<String> list = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    while (list.size() < WORDS) {
      int syllables = list.size() < 60 ? 1 : list.size() < 2500 ? 2 : 3;
      syllables += random.nextInt(8) == 0 ? 1 : 0;
      StringBuilder word = new StringBuilder();
      for (int i = 0; i < syllables; i++) {
        word.append(starts[random.nextInt(starts.length)]);
        word.append(vowels[random.nextInt(vowels.length)]);
        if (random.nextInt(3) == 0) {
          word.append(ends[random.nextInt(ends.length)]);
        }
      }
      if (seen.add(word.toString())) {
        list.add(word.toString());
      }
    }
    for (int i = 0; i < WORDS; i++) {
      words[i] = list.get(i).getBytes(StandardCharsets.US_ASCII);
    }
  }
}
