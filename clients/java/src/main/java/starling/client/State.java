package starling.client;

/** The state of a client. */
public enum State {
    IDLE,
    /** Until the server's welcome. */
    CONNECTING,
    ONLINE,
    /** Lost; tries again by itself. */
    WAITING,
    /** Ended for a reason that only a person can mend; connect() or renew() starts again. */
    CLOSED
}
