package org.lookaside.hadoop;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.CompressorStream;

/** Hadoop's stream over a compressor, which gives one from the pool back when it is closed. */
final class LookasideOutputStream extends CompressorStream {
  private Compressor own;

  private LookasideOutputStream(OutputStream out, Compressor compressor, int size) {
    super(out, compressor, size);
    own = compressor;
  }

  static CompressionOutputStream pooled(
      CompressionCodec codec, Configuration conf, OutputStream out) {
    Compressor compressor = CodecPool.getCompressor(codec, conf);
    return new LookasideOutputStream(out, compressor, new Settings(conf).ioBuffer);
  }

  static CompressionOutputStream with(
      CompressionCodec codec, Configuration conf, OutputStream out, Compressor compressor)
      throws IOException {
    return compressor == null
        ? pooled(codec, conf, out)
        : new CompressorStream(out, compressor, new Settings(conf).ioBuffer);
  }

  @Override
  public void close() throws IOException {
    try {
      super.close();
    } finally {
      if (own != null) {
        CodecPool.returnCompressor(own);
        own = null;
      }
    }
  }
}
