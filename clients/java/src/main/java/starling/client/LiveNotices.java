package starling.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;

/**
 * My notices, live: how many are unread, and each new one once, whatever becomes of the connection. Made by
 * {@link StarlingClient#watchNotices}; any thread may call. One of many users takes the place of that of the same what, post, comment and
 * day (UTC).
 *
 * <pre>
 * watch on each connection ----> notices   unread, and what this connection was not told ----> onChange, without what was told before
 * </pre>
 */
public final class LiveNotices {
    /** Sends a frame while these are the client's notices and the client is online. */
    interface Line {
        void say(LiveNotices notices, Map<String, Object> frame);
    }

    private static final int TOLD_MAX = 1000; // the server keeps 200, and tells the newest 20 of them on each connection

    private final Loop loop;
    private final Line line;
    private final NoticesListener listener;
    private final Executor listenOn;
    private final Map<String, Boolean> told = new LinkedHashMap<String, Boolean>() { // the ids of those that were told, the latest last
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            return size() > TOLD_MAX;
        }
    };
    private boolean closed;
    private volatile Long unread;

    LiveNotices(Loop loop, Line line, NoticesListener listener, Executor listenOn) {
        this.loop = loop;
        this.line = line;
        this.listener = listener;
        this.listenOn = listenOn;
    }

    /** Null: not known yet. */
    public Long getUnread() {
        return unread;
    }

    /** Ends it. */
    public void close() {
        loop.execute(this::end);
    }

    // what the client tells us, on the loop's thread

    void end() {
        if (!closed) {
            closed = true;
            line.say(this, Json.object("type", "unwatch", "what", "notices"));
        }
    }

    /** A new connection is open, which watches nothing yet. */
    void connected() {
        if (!closed) {
            line.say(this, Json.object("type", "watch", "what", "notices"));
        }
    }

    /** `notices` */
    void told(Map<String, Object> frame) {
        if (closed) {
            return;
        }
        boolean first = unread == null;
        List<Notice> news = new ArrayList<>();
        for (Notice notice : Notice.readAll(frame.get("items"))) {
            if (told.put(notice.id, true) == null) {
                news.add(notice);
            }
        }
        unread = Json.asLong(frame.get("unread"), 0);
        NoticesChange change = new NoticesChange(unread, news, first);
        listenOn.execute(() -> listener.onChange(change));
    }
}
