package starling.client;

/** The client's state has changed. */
public final class StateChange {
    /** Why a client is closed. */
    public enum Reason {
        /** The server refused the token (1008). */
        TOKEN,
        /** The token has expired (4003, or 1008). */
        EXPIRED,
        /** The user has ended the session from another device (4001). */
        ELSEWHERE,
        /** The address is none. */
        URL
    }

    public final State state;
    /** Null unless closed. */
    public final Reason reason;
    /** The close code, with waiting and closed; else null. */
    public final Integer code;
    /** Milliseconds until the next attempt, with waiting; else null. */
    public final Long retryAfterMs;
    /** Why no connection could be made, with waiting; null: there was one, or it is not known. */
    public final NoConnection why;

    StateChange(State state, Reason reason, Integer code, Long retryAfterMs, NoConnection why) {
        this.state = state;
        this.reason = reason;
        this.code = code;
        this.retryAfterMs = retryAfterMs;
        this.why = why;
    }

    @Override
    public String toString() {
        return state + (reason == null ? "" : " " + reason) + (code == null ? "" : " " + code) + (why == null ? "" : " " + why);
    }
}
