package starling.client;

/** Something that was said was not taken. Nothing ends because of it: if the connection does, a {@link StateChange} says so. */
public final class ClientError {
    /** The kinds that docs/PROTOCOL.md lists, and four of the client's own. */
    public enum Kind {
        BAD_MESSAGE,
        UNKNOWN_TYPE,
        BAD_LOCATION,
        BAD_TIME,
        BAD_CURSOR,
        NO_POSITION,
        BAD_WHAT,
        BAD_VERSION,
        BAD_SUBJECT,
        TOO_MANY_SUBJECTS,
        TOO_MANY_WATCHES,
        NO_HELLO,
        BAD_TOKEN,
        TOKEN_EXPIRED,
        NOT_PUBLIC,
        BAD_QUERY,
        TOO_MANY_QUESTIONS,
        OWNER_UNAVAILABLE,
        /** The client's own: the server sent what is not a frame. */
        BAD_FRAME,
        /** The client's own: the address is none. */
        BAD_URL,
        /** The client's own: the application's token function threw, or did not answer. */
        NO_TOKEN,
        /** The client's own: there is no connection to ask over. */
        OFFLINE,
        /** A newer server may say more than this client knows; see the code. */
        OTHER
    }

    public final Kind kind;
    /** The kind as the protocol writes it. */
    public final String code;
    /** For developers. */
    public final String message;
    /** "discover": the error is the answer to that; else null. */
    public final String about;
    /** Asking again before that is of no use; else null. */
    public final Long retryAfterMs;

    ClientError(String code, String message) {
        this(code, message, null, null);
    }

    ClientError(String code, String message, String about, Long retryAfterMs) {
        this.kind = kindOf(code);
        this.code = code;
        this.message = message;
        this.about = about;
        this.retryAfterMs = retryAfterMs;
    }

    private static Kind kindOf(String code) {
        for (Kind kind : Kind.values()) {
            if (kind.name().equalsIgnoreCase(code)) {
                return kind;
            }
        }
        return Kind.OTHER;
    }

    @Override
    public String toString() {
        return code + ": " + message;
    }
}
