package starling.client;

/** Something that was said was not taken. Nothing ends because of it: if the connection does, a {@link StateChange} says so. */
public final class ClientError {
    /** What was wrong, as docs/PROTOCOL.md says it, and three kinds of the client's own. */
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
        /** The client's own: the server sent what is not a frame. */
        BAD_FRAME,
        /** The client's own: the address is none. */
        BAD_URL,
        /** The client's own: the application's token function threw, or did not answer. */
        NO_TOKEN,
        /** A newer server may say more than this client knows; see the code. */
        OTHER
    }

    public final Kind kind;
    /** The kind as the protocol writes it. */
    public final String code;
    /** For developers. */
    public final String message;

    ClientError(String code, String message) {
        this.kind = kindOf(code);
        this.code = code;
        this.message = message;
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
