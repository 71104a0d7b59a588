package org.lookaside.hadoop;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CodecConstants;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionInputStream;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.io.compress.DecompressorStream;
import org.apache.hadoop.io.compress.DirectDecompressionCodec;
import org.apache.hadoop.io.compress.DirectDecompressor;

/**
 * The zlib format through the Lookaside device: what DefaultCodec writes and reads, in the files
 * that end with {@code .deflate} and between map and reduce ({@code
 * mapreduce.map.output.compress.codec}). Settings as {@link LookasideCodec}'s.
 */
public class LookasideDeflateCodec
    implements CompressionCodec, Configurable, DirectDecompressionCodec {
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
    return LookasideZlibCompressor.class;
  }

  @Override
  public Compressor createCompressor() {
    return new LookasideZlibCompressor(conf);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in) throws IOException {
    Decompressor pooled = CodecPool.getDecompressor(this);
    return new DecompressorStream(in, pooled, new Settings(conf).ioBuffer) {
      private boolean returned;

      @Override
      public void close() throws IOException {
        try {
          super.close();
        } finally {
          if (!returned) {
            returned = true;
            CodecPool.returnDecompressor(pooled);
          }
        }
      }
    };
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in, Decompressor decompressor)
      throws IOException {
    return decompressor == null
        ? createInputStream(in)
        : new DecompressorStream(in, decompressor, new Settings(conf).ioBuffer);
  }

  @Override
  public Class<? extends Decompressor> getDecompressorType() {
    return LookasideZlibDecompressor.class;
  }

  @Override
  public Decompressor createDecompressor() {
    return new LookasideZlibDecompressor();
  }

  @Override
  public DirectDecompressor createDirectDecompressor() {
    return new LookasideDirectDecompressor(Native.ZLIB);
  }

  @Override
  public String getDefaultExtension() {
    return CodecConstants.DEFAULT_CODEC_EXTENSION;
  }
}
