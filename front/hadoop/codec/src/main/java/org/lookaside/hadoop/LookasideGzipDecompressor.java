package org.lookaside.hadoop;

/** Decompresses one gzip member. */
public class LookasideGzipDecompressor extends LookasideDecompressor {
  /** A fresh one. */
  public LookasideGzipDecompressor() {
    super(Native.GZIP);
  }
}
