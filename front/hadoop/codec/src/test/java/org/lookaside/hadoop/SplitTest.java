package org.lookaside.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.input.LineRecordReader;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** However a file is split, its lines are read once each. */
@Timeout(300)
class SplitTest {
  @TempDir Path folder;

  private Configuration conf(int engines) {
    Configuration conf = Samples.conf(engines);
    conf.set("io.compression.codecs", LookasideCodec.class.getName());
    conf.set("fs.defaultFS", "file:///");
    return conf;
  }

  /** The lines of one split. */
  private static List<String> lines(Configuration conf, Path file, long start, long length)
      throws IOException {
    List<String> lines = new ArrayList<>();
    String delimiter = conf.get("textinputformat.record.delimiter");
    try (LineRecordReader reader =
        delimiter == null
            ? new LineRecordReader()
            : new LineRecordReader(delimiter.getBytes(StandardCharsets.ISO_8859_1))) {
      var path = new org.apache.hadoop.fs.Path(file.toUri());
      reader.initialize(
          new FileSplit(path, start, length, null),
          new TaskAttemptContextImpl(conf, new TaskAttemptID()));
      while (reader.nextKeyValue()) {
        byte[] line = reader.getCurrentValue().copyBytes();
        lines.add(new String(line, StandardCharsets.ISO_8859_1));
        assertTrue(reader.getProgress() <= 1);
      }
    }
    return lines;
  }

  private static List<String> wanted(byte[] data, String delimiter) {
    String text = new String(data, StandardCharsets.ISO_8859_1);
    String[] parts = delimiter == null ? text.split("\r\n|\n|\r", -1) : text.split(delimiter, -1);
    List<String> lines = new ArrayList<>(Arrays.asList(parts));
    if (lines.get(lines.size() - 1).isEmpty()) {
      lines.remove(lines.size() - 1);
    }
    return lines;
  }

  /** Checks some sizes of splits; answers how many splits had lines, at the smallest size. */
  private int check(byte[] data, byte[] compressed, Configuration conf, String what)
      throws IOException {
    Path file = folder.resolve("file.gz");
    Files.write(file, compressed);
    List<String> wanted = wanted(data, conf.get("textinputformat.record.delimiter"));
    int busy = 0;
    long length = compressed.length;
    for (long size : new long[] {length, length / 2 + 1, length / 3 + 1, length / 7 + 1, 3001}) {
      List<String> all = new ArrayList<>();
      busy = 0;
      for (long start = 0; start < length; start += size) {
        List<String> some = lines(conf, file, start, Math.min(size, length - start));
        busy += some.isEmpty() ? 0 : 1;
        all.addAll(some);
      }
      assertEquals(wanted.size(), all.size(), what + ", splits of " + size);
      assertEquals(wanted, all, what + ", splits of " + size);
    }
    return busy;
  }

  private static byte[] ours(byte[] data, Configuration conf) throws IOException {
    return Samples.compress(Samples.ours(conf), data);
  }

  @Test
  void linesOfAllLengths() throws IOException {
    for (int longest : new int[] {1, 10, 200, 5_000, 60_000}) {
      Random random = new Random(longest);
      ByteArrayOutputStream text = new ByteArrayOutputStream();
      while (text.size() < 300_000) {
        byte[] line = Samples.text(random.nextInt(longest + 1), text.size());
        for (byte b : line) {
          text.write(b == '\n' ? ' ' : b);
        }
        text.write('\n');
      }
      byte[] data = text.toByteArray();
      for (int engines : new int[] {0, 2}) {
        int busy = check(data, ours(data, conf(engines)), conf(engines), "lines to " + longest);
        assertTrue(longest > 5_000 || busy > 3, "split among " + busy);
      }
    }
  }

  @Test
  void linesThatEndWithABlock() throws IOException {
    // Every member ends with a line; lines of 64 bytes.
    byte[] data = new byte[6 * Samples.BLOCK];
    Random random = new Random(1);
    for (int i = 0; i < data.length; i++) {
      data[i] = (byte) (i % 64 == 63 ? '\n' : 'a' + random.nextInt(26));
    }
    check(data, ours(data, conf(1)), conf(1), "at the end of a block");
    // And with a line that ends with the first byte of the next one, and two bytes before.
    for (int shift : new int[] {1, 62, 63}) {
      byte[] shifted = Arrays.copyOfRange(data, shift, data.length);
      check(shifted, ours(shifted, conf(1)), conf(1), "shifted by " + shift);
    }
  }

  @Test
  void otherDelimiters() throws IOException {
    Random random = new Random(2);
    for (String delimiter : new String[] {"\r\n", "||"}) {
      StringBuilder text = new StringBuilder();
      while (text.length() < 200_000) {
        for (int n = random.nextInt(100); n > 0; n--) {
          text.append((char) ('a' + random.nextInt(26)));
        }
        text.append(delimiter);
      }
      // Blocks end at every place of a delimiter.
      for (int cut = 0; cut < 4; cut++) {
        byte[] data = text.substring(cut).getBytes(StandardCharsets.ISO_8859_1);
        Configuration conf = conf(1);
        if (delimiter.equals("||")) {
          conf.set("textinputformat.record.delimiter", delimiter);
        }
        Path file = folder.resolve("file.gz");
        byte[] compressed = ours(data, conf);
        Files.write(file, compressed);
        List<String> all = new ArrayList<>();
        for (long start = 0; start < compressed.length; start += 20_000) {
          all.addAll(lines(conf, file, start, Math.min(20_000, compressed.length - start)));
        }
        String quoted = delimiter.equals("||") ? "\\|\\|" : delimiter;
        assertEquals(wanted(data, quoted), all, quoted + " " + cut);
      }
    }
  }

  @Test
  void anEndWithoutANewline() throws IOException {
    byte[] data = Samples.joined(Samples.text(100_000, 3), "the last".getBytes());
    check(data, ours(data, conf(1)), conf(1), "no newline");
  }

  @Test
  void whatOthersWroteIsOneSplit() throws IOException {
    byte[] data = Samples.text(200_000, 4);
    int busy = check(data, Samples.compress(Samples.gzip(), data), conf(1), "GzipCodec's");
    assertEquals(1, busy);
    // parcomp's members: the same, but for the operating system.
    byte[] members = ours(data, conf(1));
    for (int at = 0; at < members.length; ) {
      Member member = Member.read(members, at, members.length - at);
      members[at + 9] = (byte) 0xff;
      at += member.length;
    }
    assertEquals(1, check(data, members, conf(1), "parcomp's"));
    // Ours first, then theirs: theirs belongs to the split of our last member.
    byte[] both = Samples.joined(ours(data, conf(1)), Samples.compress(Samples.gzip(), data));
    check(Samples.joined(data, data), both, conf(1), "both");
    both = Samples.joined(Samples.compress(Samples.gzip(), data), ours(data, conf(1)));
    check(Samples.joined(data, data), both, conf(1), "both, theirs first");
  }

  @Test
  void aFileOfOursWithinAFileOfOurs() throws IOException {
    // Its members do not compress: stored, their marks stand in the file as they are.
    byte[] noise = Samples.noise(200_000, 5);
    byte[] inner = ours(noise, conf(1));
    int marks = 0;
    for (int at = 0; at + Member.HEADER <= inner.length; at++) {
      marks += Member.marked(inner, at) ? 1 : 0;
    }
    assertTrue(marks >= 12, marks + " marks");
    Configuration stored = conf(1);
    for (int level : new int[] {0, 1, 6}) {
      stored.setInt(Settings.LEVEL, level);
      byte[] outer = ours(inner, stored);
      int at = 0;
      for (int i = 0; i + Member.HEADER <= outer.length; i++) {
        if (Member.marked(outer, i)) {
          assertEquals(at, i, "a mark within a member, level " + level);
          at += Member.read(outer, i, outer.length - i).length;
        }
      }
      assertEquals(outer.length, at);
      check(inner, outer, stored, "nested, level " + level);
    }
  }
}
