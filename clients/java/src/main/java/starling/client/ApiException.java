package starling.client;

import java.io.IOException;

/** The server refused, or was not reached. */
public class ApiException extends IOException {
    private static final long serialVersionUID = 1;

    /** Of the answer; 0: there was none; 202: not decided yet. */
    public final int status;
    /** As in starling's docs/openapi.yaml; besides unreachable, pending, bad_answer, no_token, interrupted and unknown. */
    public final String code;
    /** The server names a time before which asking again is of no use; else null. */
    public final Long retryAfterMs;

    ApiException(int status, String code, String message, Long retryAfterMs) {
        super(message);
        this.status = status;
        this.code = code;
        this.retryAfterMs = retryAfterMs;
    }

    /** The same request may succeed later. */
    public boolean isPassing() {
        return status == 0 || status == 202 || status == 429 || status >= 502;
    }

    /** There was no answer. */
    public static final class Unreachable extends ApiException {
        private static final long serialVersionUID = 1;

        Unreachable(String code, String message, Throwable cause) {
            super(0, code, message, null);
            initCause(cause);
        }
    }

    /** The server has taken it and not decided yet; it may be asked again with the same key. */
    public static final class Pending extends ApiException {
        private static final long serialVersionUID = 1;

        Pending() {
            super(202, "pending", "The server has not decided yet.", null);
        }
    }

    /** 401: the token is missing, wrong or has expired. */
    public static final class Unauthorized extends ApiException {
        private static final long serialVersionUID = 1;

        Unauthorized(int status, String code, String message) {
            super(status, code, message, null);
        }
    }

    /** 404: there is none, or not for this user. */
    public static final class NotFound extends ApiException {
        private static final long serialVersionUID = 1;

        NotFound(int status, String code, String message) {
            super(status, code, message, null);
        }
    }

    /** 409: it contradicts what there is, as a handle that somebody else has. */
    public static final class Conflict extends ApiException {
        private static final long serialVersionUID = 1;

        Conflict(int status, String code, String message) {
            super(status, code, message, null);
        }
    }

    /** 429: too many requests. */
    public static final class TooMany extends ApiException {
        private static final long serialVersionUID = 1;

        TooMany(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    /** 502 and above: the server cannot just now. */
    public static final class Unavailable extends ApiException {
        private static final long serialVersionUID = 1;

        Unavailable(int status, String code, String message, Long retryAfterMs) {
            super(status, code, message, retryAfterMs);
        }
    }

    static ApiException of(int status, String code, String message, Long retryAfterMs) {
        switch (status) {
            case 401:
                return new Unauthorized(status, code, message);
            case 404:
                return new NotFound(status, code, message);
            case 409:
                return new Conflict(status, code, message);
            case 429:
                return new TooMany(status, code, message, retryAfterMs);
            default:
                return status >= 502 ? new Unavailable(status, code, message, retryAfterMs)
                        : new ApiException(status, code, message, retryAfterMs);
        }
    }
}
