package starling.client;

import java.util.Collections;
import java.util.List;

/** The list of near friends has changed. */
public final class NearbyChange extends Shown {
    public enum Cause {
        /** A page came, or does not come. */
        PAGE,
        /** The server said who came, moved and went. */
        UPDATE,
        /** Somebody was silent for too long. */
        EXPIRY,
        /** Somebody has become stale. */
        STALE,
        /** move() was called. */
        MOVE,
        /** more() was called. */
        MORE
    }

    public final Cause cause;
    /** Friends who were not known to be near before; with UPDATE. */
    public final List<Friend> came;
    /** Friends who are not near any more; with UPDATE and EXPIRY. */
    public final List<Long> gone;

    NearbyChange(Cause cause) {
        this(cause, Collections.<Friend>emptyList(), Collections.<Long>emptyList());
    }

    NearbyChange(Cause cause, List<Friend> came, List<Long> gone) {
        this.cause = cause;
        this.came = Collections.unmodifiableList(came);
        this.gone = Collections.unmodifiableList(gone);
    }
}
