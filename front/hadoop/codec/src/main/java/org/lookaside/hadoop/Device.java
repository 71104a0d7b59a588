package org.lookaside.hadoop;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A Lookaside device with its engines, which all streams of this process with the same number of
 * engines share; and the one without engines, which works on the thread that asks.
 */
final class Device {
  private static final ConcurrentHashMap<Integer, Device> DEVICES = new ConcurrentHashMap<>();

  private final long runtime;
  private final int engines;
  private final ConcurrentHashMap<List<Integer>, Long> sessions = new ConcurrentHashMap<>();

  private Device(int wanted) {
    runtime = checked(Native.runtime(wanted), "lookaside.engines");
    engines = Native.engines(runtime);
  }

  /** The device with so many engine threads; -1 for one for each CPU. Lives as the process does. */
  static Device with(int engines) {
    Library.need();
    return DEVICES.computeIfAbsent(engines, Device::new);
  }

  /** The one that works on the caller's thread. */
  static Device here() {
    return with(0);
  }

  int engines() {
    return engines;
  }

  long runtime() {
    return runtime;
  }

  /** The session for whole streams or members with these parameters. */
  long session(int format, int level, int huffman) {
    return sessions.computeIfAbsent(
        List.of(format, level, huffman),
        key -> checked(Native.session(runtime, format, level, huffman), "parameters"));
  }

  /** Requests, source and destination bytes, busy ns; of compression, then of decompression. */
  long[] counters() {
    long[] counters = new long[8];
    Native.counters(runtime, counters);
    return counters;
  }

  private static long checked(long handle, String what) {
    if (handle < 0) {
      throw new IllegalArgumentException(
          what + ": " + Native.message((int) handle) + ". " + Native.objection());
    }
    return handle;
  }

  /** An error number as an exception. */
  static IOException failure(int status) {
    return new IOException("Lookaside: " + Native.message(status) + ". " + Native.objection());
  }
}
