package starling.client;

import java.util.Collections;
import java.util.List;

/** A change of my notices. */
public final class NoticesChange extends Shown {
    public final long unread;
    /** The newest that were not told before, newest first: at most 20, of the kinds whose preference is live. */
    public final List<Notice> items;
    /** These were there before: nothing has happened. */
    public final boolean first;

    NoticesChange(long unread, List<Notice> items, boolean first) {
        this.unread = unread;
        this.items = Collections.unmodifiableList(items);
        this.first = first;
    }
}
