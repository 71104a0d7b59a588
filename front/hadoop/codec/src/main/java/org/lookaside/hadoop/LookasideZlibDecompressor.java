package org.lookaside.hadoop;

/** Decompresses one zlib stream. */
public class LookasideZlibDecompressor extends LookasideDecompressor {
  /** A fresh one. */
  public LookasideZlibDecompressor() {
    super(Native.ZLIB);
  }
}
