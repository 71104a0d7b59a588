package org.lookaside.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.Deflater;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.io.compress.DirectDecompressor;
import org.apache.hadoop.io.compress.zlib.ZlibCompressor.CompressionLevel;
import org.apache.hadoop.io.compress.zlib.ZlibFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What one codec writes, the other reads. */
@Timeout(120)
class RoundTripTest {
  private static final int B = Samples.BLOCK;

  private static List<byte[]> samples() {
    List<byte[]> samples = new ArrayList<>();
    for (int length :
        new int[] {0, 1, 2, 23, 24, 25, 1000, B - 1, B, B + 1, 2 * B, 3 * B - 1, 3 * B, 5 * B + 7}) {
      samples.add(Samples.text(length, length));
      samples.add(Samples.noise(length, length));
    }
    samples.add(new byte[4 * B]);
    samples.add(Samples.text(900_000, 1));
    return samples;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, -1})
  void gzipBothWays(int engines) throws IOException {
    CompressionCodec ours = Samples.ours(Samples.conf(engines));
    CompressionCodec theirs = Samples.gzip();
    for (byte[] data : samples()) {
      byte[] written = Samples.compress(ours, data);
      assertArrayEquals(data, Samples.decompress(theirs, written), "theirs, " + data.length);
      assertArrayEquals(data, Samples.decompress(ours, written), "ours, " + data.length);
      assertArrayEquals(
          data, new GZIPInputStream(new ByteArrayInputStream(written)).readAllBytes());
      byte[] other = Samples.compress(theirs, data);
      assertArrayEquals(data, Samples.decompress(ours, other), "of theirs, " + data.length);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, -1})
  void zlibBothWays(int engines) throws Exception {
    CompressionCodec ours = Samples.ourDeflate(Samples.conf(engines));
    CompressionCodec theirs = Samples.deflate();
    for (byte[] data : samples()) {
      byte[] written = Samples.compress(ours, data);
      assertArrayEquals(data, Samples.decompress(theirs, written), "theirs, " + data.length);
      assertArrayEquals(data, Samples.decompress(ours, written), "ours, " + data.length);
      // One stream: an inflater has it all.
      Inflater inflater = new Inflater();
      inflater.setInput(written);
      assertEquals(data.length, inflater.inflate(new byte[data.length + 1]));
      assertTrue(inflater.finished() && inflater.getRemaining() == 0);
      inflater.end();
      byte[] other = Samples.compress(theirs, data);
      assertArrayEquals(data, Samples.decompress(ours, other), "of theirs, " + data.length);
    }
  }

  @Test
  void writesAndReadsOfAnySize() throws IOException {
    byte[] data = Samples.text(3 * B + 100, 3);
    for (Class<? extends CompressionCodec> type :
        List.of(LookasideCodec.class, LookasideDeflateCodec.class)) {
      CompressionCodec codec = Samples.codec(type, Samples.conf(1));
      for (int step : new int[] {1, 2, 7, 100, 4096, B, B + 1, 10 * B}) {
        byte[] written = Samples.compress(codec, data, step);
        assertArrayEquals(data, Samples.decompress(codec, written, step), "steps of " + step);
      }
    }
  }

  @Test
  void levels() throws IOException {
    byte[] data = Samples.text(300_000, 4);
    int[] sizes = new int[13];
    for (int level = 0; level <= 12; level++) {
      Configuration conf = Samples.conf(1);
      conf.setInt(Settings.LEVEL, level);
      for (Class<? extends CompressionCodec> type :
          List.of(LookasideDeflateCodec.class, LookasideCodec.class)) {
        byte[] written = Samples.compress(Samples.codec(type, conf), data);
        sizes[level] = written.length;
        CompressionCodec theirs =
            type == LookasideCodec.class ? Samples.gzip() : Samples.deflate();
        assertArrayEquals(data, Samples.decompress(theirs, written));
      }
    }
    assertTrue(sizes[0] > data.length && sizes[1] < data.length && sizes[9] < sizes[1],
        Arrays.toString(sizes));
    // Without a level of ours, Hadoop's counts.
    Configuration conf = Samples.conf(1);
    for (CompressionLevel level : CompressionLevel.values()) {
      ZlibFactory.setCompressionLevel(conf, level);
      int number = level == CompressionLevel.DEFAULT_COMPRESSION ? 6 : level.ordinal();
      assertEquals(sizes[number], Samples.compress(Samples.ours(conf), data).length);
    }
  }

  @Test
  void settingsOutsideTheirLimitsAreRefused() {
    for (String[] setting :
        new String[][] {
          {Settings.LEVEL, "13"}, {Settings.ENGINES, "-2"}, {Settings.BLOCK, "1"},
          {Settings.BLOCK, "99999999"}
        }) {
      Configuration conf = new Configuration();
      conf.set(setting[0], setting[1]);
      var thrown =
          assertThrows(
              IllegalArgumentException.class, () -> Samples.ours(conf).createCompressor());
      assertTrue(thrown.getMessage().contains(setting[0]));
    }
  }

  @Test
  void membersOfSeveralWriters() throws IOException {
    byte[][] data = new byte[7][];
    byte[][] parts = new byte[7][];
    CompressionCodec ours = Samples.ours(Samples.conf(2));
    for (int i = 0; i < data.length; i++) {
      data[i] = Samples.text(i == 3 ? 0 : 20_000 * i + 1, i);
      parts[i] = Samples.compress(i % 2 == 0 ? ours : Samples.gzip(), data[i]);
    }
    byte[] all = Samples.joined(parts);
    assertArrayEquals(Samples.joined(data), Samples.decompress(ours, all));
    assertArrayEquals(Samples.joined(data), Samples.decompress(Samples.gzip(), all));
    for (int i = 0; i < data.length; i++) {
      parts[i] = Samples.compress(
          i % 2 == 0 ? Samples.ourDeflate(Samples.conf(2)) : Samples.deflate(), data[i]);
    }
    all = Samples.joined(parts);
    assertArrayEquals(
        Samples.joined(data), Samples.decompress(Samples.ourDeflate(Samples.conf(1)), all));
    assertArrayEquals(Samples.joined(data), Samples.decompress(Samples.deflate(), all));
  }

  @Test
  void anEmptyFileIsAnEnd() {
    for (CompressionCodec codec : List.of(Samples.ours(Samples.conf(1)), Samples.gzip())) {
      assertThrows(EOFException.class, () -> Samples.decompress(codec, new byte[0]));
    }
  }

  @Test
  void largeMembersGoPieceByPiece() throws IOException {
    // Beyond what is decompressed whole: a block of zeros that one member of GzipCodec holds.
    byte[] data = new byte[40 << 20];
    assertArrayEquals(
        data,
        Samples.decompress(
            Samples.ours(Samples.conf(1)), Samples.compress(Samples.gzip(), data), 1 << 20));
  }

  @Test
  void poolAndReuse() throws IOException {
    Configuration conf = Samples.conf(2);
    for (Class<? extends CompressionCodec> type :
        List.of(LookasideCodec.class, LookasideDeflateCodec.class)) {
      CompressionCodec codec = Samples.codec(type, conf);
      Compressor first = CodecPool.getCompressor(codec);
      CodecPool.returnCompressor(first);
      for (int i = 0; i < 20; i++) {
        byte[] data = Samples.text(i * 9_999, i);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Compressor compressor = CodecPool.getCompressor(codec, conf);
        try (OutputStream out = codec.createOutputStream(bytes, compressor)) {
          out.write(data);
          if (i % 3 == 2) {
            // Left in the middle.
            compressor.reset();
            compressor.reinit(conf);
            CodecPool.returnCompressor(compressor);
            continue;
          }
        }
        CodecPool.returnCompressor(compressor);
        Decompressor decompressor = CodecPool.getDecompressor(codec);
        try (var in =
            codec.createInputStream(new ByteArrayInputStream(bytes.toByteArray()), decompressor)) {
          assertArrayEquals(data, in.readAllBytes());
        }
        CodecPool.returnDecompressor(decompressor);
      }
    }
  }

  @Test
  void manyThreads() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(16);
    List<Future<?>> done = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      int seed = i;
      done.add(
          threads.submit(
              () -> {
                byte[] data = Samples.text(200_000 + seed, seed);
                Configuration conf = Samples.conf(seed % 3);
                boolean gzip = seed % 2 == 0;
                CompressionCodec codec = gzip ? Samples.ours(conf) : Samples.ourDeflate(conf);
                byte[] written = Samples.compress(codec, data, 1 + seed * 100);
                assertArrayEquals(data, Samples.decompress(codec, written));
                CompressionCodec theirs = gzip ? Samples.gzip() : Samples.deflate();
                assertArrayEquals(data, Samples.decompress(theirs, written));
                return null;
              }));
    }
    for (Future<?> one : done) {
      one.get();
    }
    threads.shutdown();
  }

  @Test
  void dictionaries() throws Exception {
    byte[] dictionary = Samples.text(5_000, 5);
    byte[] data = Samples.text(B + 5_000, 5);
    Compressor compressor = Samples.ourDeflate(Samples.conf(1)).createCompressor();
    compressor.setDictionary(dictionary, 0, dictionary.length);
    compressor.setInput(data, 0, data.length);
    compressor.finish();
    byte[] written = new byte[2 * data.length];
    int length = 0;
    while (!compressor.finished()) {
      length += compressor.compress(written, length, written.length - length);
    }
    compressor.end();

    Inflater inflater = new Inflater();
    inflater.setInput(written, 0, length);
    byte[] out = new byte[data.length];
    assertEquals(0, inflater.inflate(out));
    assertTrue(inflater.needsDictionary());
    inflater.setDictionary(dictionary);
    assertEquals(data.length, inflater.inflate(out));
    inflater.end();
    assertArrayEquals(data, out);

    Deflater deflater = new Deflater();
    deflater.setDictionary(dictionary);
    deflater.setInput(data);
    deflater.finish();
    length = deflater.deflate(written);
    deflater.end();
    Decompressor decompressor = Samples.ourDeflate(Samples.conf(1)).createDecompressor();
    // Byte by byte, as far as the dictionary is asked for.
    int at = 0;
    while (!decompressor.needsDictionary()) {
      assertTrue(decompressor.needsInput());
      decompressor.setInput(written, at++, 1);
      assertEquals(0, decompressor.decompress(out, 0, out.length));
    }
    assertEquals(6, at);
    decompressor.setDictionary(dictionary, 0, dictionary.length);
    decompressor.setInput(written, at, length - at);
    Arrays.fill(out, (byte) 0);
    for (int n = 0; n < out.length; ) {
      n += decompressor.decompress(out, n, out.length - n);
    }
    assertArrayEquals(data, out);
    decompressor.reset();
    decompressor.setInput(written, 0, length);
    assertEquals(0, decompressor.decompress(out, 0, out.length));
    assertTrue(decompressor.needsDictionary());
    decompressor.setDictionary(data, 0, 100);
    assertThrows(IOException.class, () -> decompressor.decompress(out, 0, out.length));
    decompressor.end();
  }

  @Test
  void directBuffers() throws IOException {
    byte[] data = Samples.text(3 * B + 1, 6);
    byte[] gzip = Samples.compress(Samples.ours(Samples.conf(1)), data);
    gzip = Samples.joined(gzip, Samples.compress(Samples.gzip(), data));
    DirectDecompressor direct =
        ((LookasideCodec) Samples.ours(Samples.conf(1))).createDirectDecompressor();
    ByteBuffer src = ByteBuffer.allocateDirect(1000);
    ByteBuffer dst = ByteBuffer.allocateDirect(777);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    int at = 0;
    src.limit(0);
    while (out.size() < 2 * data.length) {
      if (!src.hasRemaining() && at < gzip.length) {
        src.clear();
        int n = Math.min(1000, gzip.length - at);
        src.put(gzip, at, n).flip();
        at += n;
      }
      dst.clear();
      direct.decompress(src, dst);
      dst.flip();
      byte[] some = new byte[dst.remaining()];
      dst.get(some);
      out.write(some);
    }
    assertArrayEquals(Samples.joined(data, data), out.toByteArray());
    ByteBuffer heap = ByteBuffer.allocate(10);
    assertThrows(IllegalArgumentException.class, () -> direct.decompress(heap, dst));
    ByteBuffer bad = ByteBuffer.allocateDirect(100);
    dst.clear();
    assertThrows(IOException.class, () -> direct.decompress(bad, dst));
  }

  @Test
  void closedIsClosed() throws IOException {
    byte[] data = Samples.text(100, 7);
    for (CompressionCodec codec :
        List.of(Samples.ours(Samples.conf(1)), Samples.ourDeflate(Samples.conf(1)))) {
      Compressor compressor = codec.createCompressor();
      compressor.setInput(data, 0, data.length);
      compressor.compress(new byte[100], 0, 100);
      compressor.end();
      compressor.end();
      assertThrows(IOException.class, () -> compressor.compress(new byte[100], 0, 100));
      Decompressor decompressor = codec.createDecompressor();
      decompressor.setInput(data, 0, data.length);
      decompressor.end();
      decompressor.end();
      assertThrows(IOException.class, () -> decompressor.decompress(new byte[100], 0, 100));
      assertFalse(decompressor.finished());
    }
  }
}
