package org.lookaside.hadoop;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/**
 * Finds and loads {@code liblookaside_hadoop.so}, once: from the folder that the system property
 * {@code lookaside.library.path} names and nowhere else, if it is set; else from {@code
 * java.library.path}; else from the jar, unpacked into a temporary folder. {@code
 * liblookaside.so.0} is looked for beside it, then where the system looks.
 */
final class Library {
  /** The system property. */
  static final String PATH = "lookaside.library.path";

  private static final String FILE = "liblookaside_hadoop.so";
  private static final List<String> FILES = List.of("liblookaside.so.0", FILE);

  private static final Throwable FAILURE = load();

  private Library() {}

  /** Loads the library, or says why it cannot be had. */
  static void need() {
    if (FAILURE != null) {
      throw new IllegalStateException(
          "the Lookaside library does not load: " + FAILURE.getMessage(), FAILURE);
    }
  }

  private static Throwable load() {
    try {
      String folder = System.getProperty(PATH);
      if (folder != null && !folder.isEmpty()) {
        System.load(Path.of(folder, FILE).toAbsolutePath().toString());
        return null;
      }
      try {
        System.loadLibrary("lookaside_hadoop");
        return null;
      } catch (UnsatisfiedLinkError notThere) {
        return fromJar(notThere);
      }
    } catch (UnsatisfiedLinkError | IOException | RuntimeException e) {
      return e;
    }
  }

  private static Throwable fromJar(UnsatisfiedLinkError notThere) throws IOException {
    Path folder = Files.createTempDirectory("lookaside");
    try {
      for (String name : FILES) {
        String resource =
            "native/" + System.getProperty("os.name") + "-" + System.getProperty("os.arch") + "/";
        try (InputStream in = Library.class.getResourceAsStream(resource + name)) {
          if (in == null) {
            return new UnsatisfiedLinkError(
                notThere.getMessage() + "; -D" + PATH + " is not set; the jar has no " + resource
                    + name);
          }
          Files.copy(in, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
        }
      }
      System.load(folder.resolve(FILE).toString());
      return null;
    } finally {
      // What is loaded stays loaded without its file.
      for (String name : FILES) {
        Files.deleteIfExists(folder.resolve(name));
      }
      Files.deleteIfExists(folder);
    }
  }
}
