package starling.client;

import java.io.EOFException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.UnknownHostException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;

/** Why no connection could be made. */
public enum NoConnection {
    /** Nobody listens at that address. */
    REFUSED("Nobody listens at "),
    UNKNOWN_HOST("The host is not known: "),
    /** The server's certificate is not trusted here, has expired, or is of another host. */
    CERTIFICATE("The certificate is not trusted here: "),
    /** https: or wss: to a port that speaks http: or ws:, or the other way round. */
    TLS("What answers does not speak what the address says, with TLS or without: "),
    /** Of WebSockets: a web server answered that takes none; it is the HTTP API, perhaps. */
    NO_EDGE("What answers takes no WebSockets of starling: ");

    private final String words;

    NoConnection(String words) {
        this.words = words;
    }

    String message(Object url) {
        return words + url;
    }

    /** Null: the error does not say. */
    static NoConnection of(Throwable error) {
        if (in(error, UnknownHostException.class)) {
            return UNKNOWN_HOST;
        }
        if (in(error, SSLPeerUnverifiedException.class) || in(error, CertificateException.class) || in(error, CertPathValidatorException.class)) {
            return CERTIFICATE;
        }
        if (in(error, ConnectException.class) && says(error, "refused")) {
            return REFUSED;
        }
        return !hungUp(error) && (in(error, SSLException.class) || in(error, ProtocolException.class)) ? TLS : null;
    }

    /** The server said nothing, and went. */
    static boolean hungUp(Throwable error) {
        return in(error, EOFException.class) || says(error, "reset");
    }

    private static boolean in(Throwable error, Class<?> kind) {
        return error != null && (kind.isInstance(error) || in(error.getCause(), kind));
    }

    private static boolean says(Throwable error, String word) {
        return error != null && (String.valueOf(error.getMessage()).contains(word) || says(error.getCause(), word));
    }
}
