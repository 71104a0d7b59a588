import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;

/**
 * Makes a trust store of a PEM file of certificates: {@code java Trust.java BUNDLE STORE}. A JVM does not
 * know the variable SSL_CERT_FILE, by which everything else is told whom to trust.
 */
final class Trust {
  static final char[] PASSWORD = "changeit".toCharArray();

  public static void main(String[] args) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, PASSWORD);
    int n = 0;
    try (InputStream bundle = new FileInputStream(args[0])) {
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(bundle)) {
        store.setCertificateEntry("ca" + n++, one);
      }
    }
    try (OutputStream out = new FileOutputStream(args[1])) {
      store.store(out, PASSWORD);
    }
  }
}
