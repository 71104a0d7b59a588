package org.lookaside.hadoop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.io.compress.GzipCodec;
import org.apache.hadoop.util.ReflectionUtils;

/** Data, codecs, and whole streams in one call. */
final class Samples {
  static final int BLOCK = Settings.BLOCK_MIN;

  private Samples() {}

  static Configuration conf(int engines) {
    Configuration conf = new Configuration();
    conf.setInt(Settings.ENGINES, engines);
    conf.setInt(Settings.BLOCK, BLOCK);
    return conf;
  }

  static CompressionCodec codec(Class<? extends CompressionCodec> type, Configuration conf) {
    return ReflectionUtils.newInstance(type, conf);
  }

  static CompressionCodec ours(Configuration conf) {
    return codec(LookasideCodec.class, conf);
  }

  static CompressionCodec ourDeflate(Configuration conf) {
    return codec(LookasideDeflateCodec.class, conf);
  }

  static CompressionCodec gzip() {
    return codec(GzipCodec.class, new Configuration());
  }

  static CompressionCodec deflate() {
    return codec(DefaultCodec.class, new Configuration());
  }

  static byte[] text(int length, long seed) {
    Random random = new Random(seed);
    StringBuilder text = new StringBuilder(length + 40);
    while (text.length() < length) {
      text.append("line ").append(random.nextInt(1000)).append(" of ");
      text.append(Long.toString(random.nextLong() >>> random.nextInt(60), 36));
      text.append(random.nextInt(5) == 0 ? '\n' : ' ');
    }
    text.setLength(length);
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }

  static byte[] noise(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  /** Compressed in writes of at most {@code step} bytes. */
  static byte[] compress(CompressionCodec codec, byte[] data, int step) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = codec.createOutputStream(bytes)) {
      for (int at = 0; at < data.length; at += step) {
        out.write(data, at, Math.min(step, data.length - at));
      }
    }
    return bytes.toByteArray();
  }

  static byte[] compress(CompressionCodec codec, byte[] data) throws IOException {
    return compress(codec, data, 70_001);
  }

  static byte[] decompress(CompressionCodec codec, byte[] compressed, int step)
      throws IOException {
    return decompress(codec, new ByteArrayInputStream(compressed), step);
  }

  static byte[] decompress(CompressionCodec codec, InputStream from, int step)
      throws IOException {
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    byte[] buffer = new byte[step];
    try (InputStream in = codec.createInputStream(from)) {
      for (int n; (n = in.read(buffer)) >= 0; ) {
        data.write(buffer, 0, n);
      }
    }
    return data.toByteArray();
  }

  static byte[] decompress(CompressionCodec codec, byte[] compressed) throws IOException {
    return decompress(codec, compressed, 30_011);
  }

  static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.write(part, 0, part.length);
    }
    return all.toByteArray();
  }
}
