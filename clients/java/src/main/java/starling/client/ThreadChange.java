package starling.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A change of a thread of comments. Apply gone, items and counters in this order. */
public final class ThreadChange extends Shown {
    /** The new numbers of a comment. */
    public static final class Counters extends Shown {
        public final String id;
        public final long likes;
        public final long replyCount;

        private Counters(String id, long likes, long replyCount) {
            this.id = id;
            this.likes = likes;
            this.replyCount = replyCount;
        }
    }

    /** Visible comments and replies of the subject. */
    public final long total;
    /** Users who like the subject itself. */
    public final long likes;
    /** Too much happens, or earlier changes are missing: some comments are left out, and counters may come late. onStale follows. */
    public final boolean sampled;
    /** New comments, and those whose state has changed; roots and replies. Their replies are empty: keep what was known. */
    public final List<Comment> items;
    /** Deleted and hidden comments, whose texts must go at once; each is in items, too, as a page shows it now. */
    public final List<String> gone;
    /** Of other comments, also of ones that are not listed. */
    public final List<Counters> counters;

    private ThreadChange(Map<String, Object> frame, boolean sampled, List<Comment> items, List<String> gone, List<Counters> counters) {
        total = Json.asLong(frame.get("total"), 0);
        likes = Json.asLong(frame.get("likes"), 0);
        this.sampled = sampled;
        this.items = Collections.unmodifiableList(items);
        this.gone = Collections.unmodifiableList(gone);
        this.counters = Collections.unmodifiableList(counters);
    }

    /** All that a frame says. */
    static ThreadChange of(Map<String, Object> frame) {
        List<Counters> counters = new ArrayList<>();
        for (Object value : Json.asList(frame.get("counters"))) {
            Map<String, Object> one = Json.asObject(value);
            if (one != null && Post.isId(one.get("id"))) {
                counters.add(new Counters((String) one.get("id"), Json.asLong(one.get("likes"), 0), Json.asLong(one.get("reply_count"), 0)));
            }
        }
        return new ThreadChange(frame, Boolean.TRUE.equals(frame.get("sampled")),
                Comment.readAll(frame.get("items")), Json.asTexts(frame.get("gone")), counters);
    }

    /** Only what a frame says is gone. */
    static ThreadChange hiding(Map<String, Object> frame) {
        List<String> gone = Json.asTexts(frame.get("gone"));
        List<Comment> hidden = new ArrayList<>();
        for (Comment comment : Comment.readAll(frame.get("items"))) {
            if (gone.contains(comment.id)) {
                hidden.add(comment);
            }
        }
        return new ThreadChange(frame, true, hidden, gone, Collections.<Counters>emptyList());
    }
}
