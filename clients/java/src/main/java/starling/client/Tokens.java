package starling.client;

import java.io.IOException;
import java.util.Map;
import okio.ByteString;

/** Where tokens come from: one that was given, or the application's function that is asked whenever one is needed. */
final class Tokens {
    private static final long EARLY_MS = 60_000; // a token is renewed this long before its end,
    private static final double EARLY_SHARE = 0.2; // or in the last fifth of what is left of a short one
    private static final long SHORTEST_MS = 1_000; // renewals are not closer together than this

    private final String token;
    private final TokenFunction function;
    private int refusals;

    private Tokens(String token, TokenFunction function) {
        this.token = token;
        this.function = function;
    }

    static Tokens of(String token) {
        if (token == null) {
            throw new IllegalArgumentException("no token");
        }
        return new Tokens(token, null);
    }

    static Tokens of(TokenFunction function) {
        if (function == null) {
            throw new IllegalArgumentException("no token function");
        }
        return new Tokens(null, function);
    }

    /** It may wait, and throws what the application's function throws. */
    String get() throws Exception {
        if (function == null) {
            return token;
        }
        String got = function.getToken();
        if (got == null) {
            throw new IOException("the token function returned null");
        }
        return got;
    }

    /** The server took a token: the next refusal is the first one again. */
    void trust() {
        refusals = 0;
    }

    /** The server refused the token. True: another one may be better (asked once, not for ever). */
    boolean refused() {
        refusals++;
        return function != null && refusals <= 1;
    }

    /** Milliseconds until the token in use should be renewed; null: it cannot be, or nobody knows when it ends. */
    Long renewIn(String used, double nowMs) {
        Double endMs = function == null ? null : expiryOf(used);
        if (endMs == null) {
            return null;
        }
        double left = endMs - nowMs;
        return (long) Math.max(SHORTEST_MS, left - Math.min(EARLY_MS, left * EARLY_SHARE));
    }

    /** When a JWT ends, ms since the epoch; null: it does not say. It is not verified: only the server can. */
    static Double expiryOf(String jwt) {
        String[] parts = jwt.split("\\.");
        ByteString body = parts.length < 2 ? null : ByteString.decodeBase64(parts[1]);
        if (body == null) {
            return null;
        }
        try {
            Map<String, Object> claims = Json.readObject(body.utf8());
            double end = Json.asDouble(claims.get("exp"), Double.NaN);
            return Double.isNaN(end) ? null : end * 1000;
        } catch (IOException notAJwt) {
            return null;
        }
    }
}
