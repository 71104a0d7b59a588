package org.lookaside.hadoop;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CodecConstants;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionInputStream;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.io.compress.DecompressorStream;
import org.apache.hadoop.io.compress.DirectDecompressionCodec;
import org.apache.hadoop.io.compress.DirectDecompressor;
import org.apache.hadoop.io.compress.SplitCompressionInputStream;
import org.apache.hadoop.io.compress.SplittableCompressionCodec;

/**
 * gzip through the Lookaside device, for Hadoop, Spark and whatever else takes Hadoop's codecs.
 *
 * <p>It reads every gzip file, and GzipCodec and gunzip(1) read what it writes: members whose
 * headers tell their lengths (see {@link Member}), at which its own files are split among tasks. A
 * file of another writer is one split's, as GzipCodec's files are.
 *
 * <p>Settings: {@code lookaside.level} (else {@code zlib.compress.level}), {@code
 * lookaside.block.size}, {@code lookaside.engines}; {@code io.file.buffer.size}.
 */
public class LookasideCodec
    implements Configurable, SplittableCompressionCodec, DirectDecompressionCodec {
  private Configuration conf = new Configuration(false);

  @Override
  public void setConf(Configuration conf) {
    this.conf = conf;
  }

  @Override
  public Configuration getConf() {
    return conf;
  }

  @Override
  public CompressionOutputStream createOutputStream(OutputStream out) throws IOException {
    return LookasideOutputStream.pooled(this, conf, out);
  }

  @Override
  public CompressionOutputStream createOutputStream(OutputStream out, Compressor compressor)
      throws IOException {
    return LookasideOutputStream.with(this, conf, out, compressor);
  }

  @Override
  public Class<? extends Compressor> getCompressorType() {
    return LookasideGzipCompressor.class;
  }

  @Override
  public Compressor createCompressor() {
    return new LookasideGzipCompressor(conf);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in) throws IOException {
    return createInputStream(in, null);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in, Decompressor decompressor)
      throws IOException {
    Settings settings = new Settings(conf);
    if (decompressor != null && !(decompressor instanceof LookasideGzipDecompressor)) {
      return new DecompressorStream(in, decompressor, settings.ioBuffer);
    }
    boolean pooled = decompressor == null;
    Decompressor used = pooled ? CodecPool.getDecompressor(this) : decompressor;
    return new LookasideInputStream(in, (LookasideGzipDecompressor) used, pooled, settings);
  }

  @Override
  public SplitCompressionInputStream createInputStream(
      InputStream seekableIn, Decompressor decompressor, long start, long end, READ_MODE readMode)
      throws IOException {
    // Both modes are one: reads end with members, and data goes on beyond the end.
    boolean pooled = !(decompressor instanceof LookasideGzipDecompressor);
    Decompressor used = pooled ? CodecPool.getDecompressor(this) : decompressor;
    return new LookasideInputStream(
        seekableIn, (LookasideGzipDecompressor) used, pooled, new Settings(conf), true, start, end);
  }

  @Override
  public Class<? extends Decompressor> getDecompressorType() {
    return LookasideGzipDecompressor.class;
  }

  @Override
  public Decompressor createDecompressor() {
    return new LookasideGzipDecompressor();
  }

  @Override
  public DirectDecompressor createDirectDecompressor() {
    return new LookasideDirectDecompressor(Native.GZIP);
  }

  @Override
  public String getDefaultExtension() {
    return CodecConstants.GZIP_CODEC_EXTENSION;
  }
}
