package starling.client;

import java.util.Collections;
import java.util.List;

/** A {@link LiveFeed} has changed. */
public final class FeedChange extends Shown {
    public enum Cause {
        /** Everything listed was read again. */
        PAGE,
        /** The server said what came and went. */
        POSTS,
        /** older() is done. */
        OLDER,
        /** Posts that were unavailable are there, or gone. */
        FILLED,
        /** drop() was called. */
        GONE
    }

    public final Cause cause;
    /** Posts that were not listed before, newest first; with PAGE and POSTS. */
    public final List<Post> came;
    /** The ids of posts that are not listed any more. */
    public final List<String> gone;

    FeedChange(Cause cause, List<Post> came, List<String> gone) {
        this.cause = cause;
        this.came = Collections.unmodifiableList(came);
        this.gone = Collections.unmodifiableList(gone);
    }
}
