package starling.client;

import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import okhttp3.HttpUrl;

/** The server refused, or was not reached. */
public class ApiException extends IOException {
    private static final long serialVersionUID = 1;

    /** Of the answer; 0: there was none; 202: not decided yet. */
    public final int status;
    /** As in starling's docs/openapi.yaml; besides unreachable, pending, bad_answer, no_token, interrupted and unknown. */
    public final String code;
    /** The server names a time before which asking again is of no use; else null. */
    public final Long retryAfterMs;
    Map<String, Object> problem = Collections.emptyMap();

    ApiException(int status, String code, String message, Long retryAfterMs) {
        super(message);
        this.status = status;
        this.code = code;
        this.retryAfterMs = retryAfterMs;
    }

    /** Returns all members of the server's problem+json; empty where something else answered. */
    public Map<String, Object> getProblem() {
        return problem;
    }

    /** The same request may succeed later. */
    public boolean isPassing() {
        return status == 0 || status == 202 || status == 429 || status >= 502;
    }

    /** No answer came: no network, no token, the connection was refused, or it took too long. */
    public static final class Unreachable extends ApiException {
        private static final long serialVersionUID = 1;

        /** Null: not known, or there was no token. */
        public final NoConnection why;

        Unreachable(String code, String message, NoConnection why) {
            super(0, code, message, null);
            this.why = why;
        }
    }

    /** 202: the command is safe, its outcome was not known in time. The same request again, with the same key, finds it out. */
    public static final class Undecided extends ApiException {
        private static final long serialVersionUID = 1;

        Undecided(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 400, 413 and other 4xx: the request is wrong, and will be next time. `code` says what about it. */
    public static final class BadRequest extends ApiException {
        private static final long serialVersionUID = 1;

        BadRequest(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 401: the token is missing, forged, or of the wrong audience. */
    public static class TokenRefused extends ApiException {
        private static final long serialVersionUID = 1;

        TokenRefused(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 401 token_expired: a new one of the same user will do. */
    public static final class TokenExpired extends TokenRefused {
        private static final long serialVersionUID = 1;

        TokenExpired(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 403: this user may not do that. */
    public static final class Forbidden extends ApiException {
        private static final long serialVersionUID = 1;

        Forbidden(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 404: there is none, or not for this user. */
    public static final class NotFound extends ApiException {
        private static final long serialVersionUID = 1;

        NotFound(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 409: it is somebody else's already, or says something else than before. */
    public static final class Conflict extends ApiException {
        private static final long serialVersionUID = 1;

        Conflict(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 429: not so fast. retryAfterMs says when. */
    public static final class TooManyRequests extends ApiException {
        private static final long serialVersionUID = 1;

        TooManyRequests(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 5xx: the server cannot just now. retryAfterMs is its guess of when it can. */
    public static final class ServerUnavailable extends ApiException {
        private static final long serialVersionUID = 1;

        ServerUnavailable(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** The error of an answer, of its kind. */
    static ApiException of(int status, String code, String message, Long retryAfterMs) {
        switch (status) {
            case 0:
                return new Unreachable(code, message, null);
            case 202:
                return new Undecided(status, code, message, retryAfterMs);
            case 401:
                return code.equals("token_expired") ? new TokenExpired(status, code, message, retryAfterMs)
                        : new TokenRefused(status, code, message, retryAfterMs);
            case 403:
                return new Forbidden(status, code, message, retryAfterMs);
            case 404:
                return new NotFound(status, code, message, retryAfterMs);
            case 409:
                return new Conflict(status, code, message, retryAfterMs);
            case 429:
                return new TooManyRequests(status, code, message, retryAfterMs);
            default:
                return status >= 500 ? new ServerUnavailable(status, code, message, retryAfterMs)
                        : status >= 400 ? new BadRequest(status, code, message, retryAfterMs)
                        : new ApiException(status, code, message, retryAfterMs);
        }
    }

    /** No answer came. */
    static ApiException unreachable(HttpUrl url, IOException cause) {
        NoConnection why = NoConnection.of(cause);
        ApiException error = new Unreachable("unreachable", why == null ? "The server cannot be reached." : why.message(url.toString()), why);
        error.initCause(cause);
        return error;
    }

    /** No answer came, for that reason. */
    static ApiException noAnswer(String code, String message, Throwable cause) {
        ApiException error = of(0, code, message, null);
        error.initCause(cause);
        return error;
    }
}
