package org.lookaside.hadoop;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.io.compress.zlib.ZlibCompressor.CompressionLevel;
import org.apache.hadoop.io.compress.zlib.ZlibCompressor.CompressionStrategy;
import org.apache.hadoop.io.compress.zlib.ZlibFactory;

/** What a configuration says to the codecs. */
final class Settings {
  /** 0 (stored) to 12 (smallest). Without it, {@code zlib.compress.level} decides. */
  static final String LEVEL = "lookaside.level";

  /** Engine threads of this process; 0: work on the caller's thread; -1: one for each CPU. */
  static final String ENGINES = "lookaside.engines";

  /** Bytes of text in one request, and in one gzip member. */
  static final String BLOCK = "lookaside.block.size";

  static final int BLOCK_DEFAULT = 512 << 10;
  static final int BLOCK_MIN = 16 << 10;
  static final int BLOCK_MAX = 16 << 20;

  final int level;
  final int huffman;
  final int engines;
  final int block;
  final int ioBuffer;

  Settings(Configuration conf) {
    level = number(conf, LEVEL, level(ZlibFactory.getCompressionLevel(conf)), 0, 12);
    // The other strategies are advice on matches, which the kernels do not take.
    boolean fixed = ZlibFactory.getCompressionStrategy(conf) == CompressionStrategy.FIXED;
    huffman = fixed ? Native.STATIC : Native.DYNAMIC;
    engines = number(conf, ENGINES, -1, -1, 1024);
    block = number(conf, BLOCK, BLOCK_DEFAULT, BLOCK_MIN, BLOCK_MAX);
    ioBuffer =
        conf.getInt(
            CommonConfigurationKeysPublic.IO_FILE_BUFFER_SIZE_KEY,
            CommonConfigurationKeysPublic.IO_FILE_BUFFER_SIZE_DEFAULT);
  }

  private static int number(Configuration conf, String name, int otherwise, int min, int max) {
    int value = conf.getInt(name, otherwise);
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          name + " is " + value + ", outside " + min + " to " + max);
    }
    return value;
  }

  /** zlib's number for one of Hadoop's names; its default is 6. */
  private static int level(CompressionLevel level) {
    switch (level) {
      case DEFAULT_COMPRESSION:
        return 6;
      default:
        // The names stand in the order of their numbers, 0 to 9.
        return level.ordinal();
    }
  }
}
