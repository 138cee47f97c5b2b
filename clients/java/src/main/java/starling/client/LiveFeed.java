package starling.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executor;

/**
 * My home timeline, kept up to date: read over HTTP from the newest post down to the oldest that somebody asked for, and from then on
 * changed by what the edge says. Made by {@link StarlingClient#watchFeed}; any thread may call.
 *
 * <pre>
 * newest |------------ list ------------| cursor -> older()
 * page         version v1                          read over HTTP
 * posts        v1 -> v2: new ones on top, gone ones off     said by the edge; if it is not from the version that we have,
 * stale        v3 after so many ms                          or is told to be, everything listed is read again
 * </pre>
 *
 * After each reading, and on each new connection, the edge is told the version that we have: it names another one at once.
 */
public final class LiveFeed {
    /** Sends a frame while this is the client's feed and the client is online. */
    interface Line {
        void say(LiveFeed feed, Map<String, Object> frame);
    }

    private static final int PAGE_SIZE = 20;
    private static final int LARGEST_PAGE = 100;
    private static final int FILLED_AT_ONCE = 10;
    private static final long SOON_MS = 500; // the first pause of those that double
    private static final long LONGEST_PAUSE_MS = 60_000;
    private static final int READINGS_FOR_A_VERSION = 8; // some two minutes; after that the edge names it again if it must
    private static final int MOST_NEW = 200; // posts above the listed ones; more of them push the oldest ones off the list

    /** The version that the edge named and no page has had. before: the one that we had then. */
    private static final class Named {
        final String version;
        final String before;
        int readings;

        Named(String version, String before) {
            this.version = version;
            this.before = before;
        }
    }

    /** Pages read in a row, from the newest post down. */
    private static final class Reading {
        final List<Post> items = new ArrayList<>();
        boolean complete = true;
        String version;
        String next;
    }

    private final Loop loop;
    private final Loop.Timers timers;
    private final StarlingApi api;
    private final Line line;
    private final Random random;
    private final FeedListener listener;
    private final Executor listenOn;
    private final PostList posts = new PostList();
    private final List<Map<String, Object>> unread = new ArrayList<>(); // what the edge said while a page was on its way
    private boolean closed;
    private boolean reading;
    private boolean again; // what is being read may be old already
    private boolean readingOlder;
    private boolean olderWaits; // for the reading, which moves the cursor
    private Named named;
    private int failures;
    private int incomplete;
    private int fillings;

    // what any thread may see
    private volatile List<Post> list = Collections.emptyList();
    private volatile boolean more;
    private volatile boolean complete;
    private volatile String version;
    private volatile ApiException failure;
    private volatile Long retryAtMs;

    LiveFeed(Loop loop, StarlingApi api, Line line, Random random, FeedListener listener, Executor listenOn) {
        this.loop = loop;
        this.timers = loop.new Timers();
        this.api = api;
        this.line = line;
        this.random = random;
        this.listener = listener;
        this.listenOn = listenOn;
    }

    /** Newest first, without gaps from the newest one down; not to be changed, and never changed later. */
    public List<Post> getList() {
        return list;
    }

    /** older() would list more. */
    public boolean hasMore() {
        return more;
    }

    /** False: posts may be missing; the list is read again until none are. */
    public boolean isComplete() {
        return complete;
    }

    /** Null: nothing was read yet. */
    public String getVersion() {
        return version;
    }

    /** The error of the last reading; null: it did not fail. */
    public ApiException getFailure() {
        return failure;
    }

    /** Milliseconds until a reading that failed is tried again; null: refresh() must be called, or nothing failed. */
    public Long getRetryAfterMs() {
        Long at = retryAtMs;
        return at == null ? null : Math.max(0, at - Loop.nowMs());
    }

    /** Reads everything listed again, now. */
    public void refresh() {
        loop.execute(() -> {
            if (!closed) {
                failures = 0;
                read();
            }
        });
    }

    /** Lists twenty older posts. A change of cause OLDER tells when there are more, or no more; or onOlderFailed. */
    public void older() {
        loop.execute(() -> {
            if (!closed && !readingOlder) {
                readingOlder = true;
                readOlder();
            }
        });
    }

    /** Takes posts off the list of which the application knows that they go: before the server says so. */
    public void drop(PostFilter unwanted) {
        loop.execute(() -> {
            List<String> gone = posts.drop(unwanted);
            if (!gone.isEmpty()) {
                changed(FeedChange.Cause.GONE, Collections.<Post>emptyList(), gone);
            }
        });
    }

    /** Ends it. The list stays as it is. */
    public void close() {
        loop.execute(this::end);
    }

    // what the client tells us, on the loop's thread

    void end() {
        if (!closed) {
            closed = true;
            timers.clearAll();
            retryAtMs = null;
            line.say(this, Json.object("type", "unwatch", "what", "feed"));
        }
    }

    /** A new connection is open, which watches nothing yet. */
    void connected() {
        if (!closed && version != null) {
            line.say(this, Json.object("type", "watch", "what", "feed", "version", version));
        }
    }

    /** `posts` */
    void posted(Map<String, Object> frame) {
        if (closed) {
            return;
        }
        if (reading) {
            unread.add(frame);
        } else if (version == null || !(version.equals(frame.get("since")) || version.equals(frame.get("version")))) {
            readIn(0);
        } else {
            PostList.Difference difference = apply(frame);
            changed(FeedChange.Cause.POSTS, difference.came, difference.gone);
        }
    }

    /** `stale` */
    void stale(Map<String, Object> frame) {
        String newer = String.valueOf(frame.get("version"));
        if (closed || newer.equals(version)) {
            return;
        }
        if (named == null || !named.version.equals(newer)) {
            named = new Named(newer, version);
        }
        long wait = (long) Math.max(0, Json.asDouble(frame.get("after_ms"), 0));
        readIn(named.readings > 0 ? Math.max(wait, pause(named.readings)) : wait);
    }

    /** Applies only the deletions of a frame whose version the page has already. */
    private PostList.Difference apply(Map<String, Object> frame) {
        List<Post> items = isNext(frame) ? Post.readAll(frame.get("items")) : Collections.<Post>emptyList();
        PostList.Difference difference = posts.merge(items, Json.asTexts(frame.get("gone")));
        version = String.valueOf(frame.get("version"));
        if (named != null && complete && failure == null) {
            timers.clear("read");
        }
        named = null; // what was named is older than this
        return difference;
    }

    private boolean isNext(Map<String, Object> frame) {
        return version != null && version.equals(frame.get("since"));
    }

    // reading

    /** Sooner than it would be otherwise; but a server that cannot answer just now is left alone. */
    private void readIn(long afterMs) {
        Long due = timers.dueIn("read");
        if (due == null || (due > afterMs && failure == null)) {
            timers.set("read", afterMs, this::read);
        }
    }

    private void read() {
        timers.clear("read");
        again = reading;
        if (!reading) {
            reading = true;
            readPage(new Reading(), null, posts.size(), posts.size() + MOST_NEW);
        }
    }

    /** The newest page, and as many more as it takes to the oldest post that is listed, unless that is more than `most` posts. */
    private void readPage(Reading soFar, String after, int count, int most) {
        int limit = Math.min(LARGEST_PAGE, Math.max(PAGE_SIZE, count));
        this.<FeedPage>ask(() -> api.getFeed(after, limit), (page, error) -> {
            if (error != null) {
                wasNotRead(error);
                return;
            }
            soFar.items.addAll(page.items);
            soFar.complete = soFar.complete && page.complete;
            soFar.next = page.next;
            soFar.version = soFar.version == null ? page.version : soFar.version;
            int left = page.next == null ? 0 : posts.countBeyond(page.next);
            if (left > 0 && soFar.items.size() < most) {
                readPage(soFar, page.next, left, most);
            } else {
                wasRead(soFar);
            }
        });
    }

    private void wasRead(Reading page) {
        reading = false;
        failures = 0;
        failure = null;
        PostList.Difference difference = posts.replace(page.items, page.next);
        version = page.version;
        complete = page.complete;
        incomplete = page.complete ? 0 : incomplete + 1;
        compareWithNamed();
        if (!page.complete) {
            readIn(pause(incomplete));
        }
        if (!applyUnread() || again) {
            again = false;
            readIn(SOON_MS);
        }
        connected();
        changed(FeedChange.Cause.PAGE, difference.came, difference.gone);
        if (olderWaits) {
            olderWaits = false;
            readOlder();
        }
    }

    /** Reads again, later each time, while the page is what it was when the edge named another version. */
    private void compareWithNamed() {
        if (named == null) {
            return;
        }
        named.readings++;
        boolean asNamed = version.equals(named.version);
        if (asNamed || !version.equals(named.before) || named.readings >= READINGS_FOR_A_VERSION) {
            if (asNamed) {
                timers.clear("read"); // named while the page was on its way
            }
            named = null; // if the page is not what it should be even so, `watch` lets the edge say it
        } else {
            readIn(pause(named.readings));
        }
    }

    /** Applies those frames that come after the page that was read. Returns: nothing is missing between the two. */
    private boolean applyUnread() {
        List<Map<String, Object>> frames = new ArrayList<>(unread);
        unread.clear();
        int known = -1;
        int next = -1;
        for (int i = 0; i < frames.size(); i++) {
            known = version.equals(frames.get(i).get("version")) ? i : known;
            next = next < 0 && isNext(frames.get(i)) ? i : next;
        }
        int start = known >= 0 ? known + 1 : Math.max(0, next);
        for (Map<String, Object> frame : frames.subList(0, start)) {
            posts.merge(Collections.<Post>emptyList(), Json.asTexts(frame.get("gone")));
        }
        for (Map<String, Object> frame : frames.subList(start, frames.size())) {
            if (!isNext(frame)) {
                return false;
            }
            apply(frame);
        }
        return true;
    }

    private void wasNotRead(ApiException error) {
        reading = false;
        failure = error;
        if (error.isPassing()) {
            long pause = Backoff.pause(failures, random, 0);
            failures++;
            readIn(error.retryAfterMs == null ? pause : Math.max(pause, error.retryAfterMs));
        }
        publish();
        listenOn.execute(() -> listener.onError(error));
        if (olderWaits) {
            olderWaits = false;
            readOlder();
        }
    }

    private void readOlder() {
        final String cursor = posts.cursor;
        if (reading) {
            olderWaits = true;
        } else if (cursor == null) {
            readingOlder = false;
            changed(FeedChange.Cause.OLDER, Collections.<Post>emptyList(), Collections.<String>emptyList());
        } else {
            this.<FeedPage>ask(() -> api.getFeed(cursor, PAGE_SIZE), (page, error) -> olderCame(cursor, page, error));
        }
    }

    private void olderCame(String cursor, FeedPage page, ApiException error) {
        if (error != null) {
            readingOlder = false;
            listenOn.execute(() -> listener.onOlderFailed(error));
        } else if (!cursor.equals(posts.cursor)) {
            readOlder(); // read again meanwhile: nobody knows what lies between
        } else {
            int came = posts.append(page.items, page.next);
            if (!page.complete) {
                readIn(pause(1));
            }
            if (came == 0 && page.next != null) {
                readOlder();
            } else {
                readingOlder = false;
                changed(FeedChange.Cause.OLDER, Collections.<Post>emptyList(), Collections.<String>emptyList());
            }
        }
    }

    // posts that could not be shown

    private void fillSoon() {
        final List<String> wanted = new ArrayList<>();
        for (Post post : list) {
            if (post.unavailable && wanted.size() < FILLED_AT_ONCE) {
                wanted.add(post.id);
            }
        }
        if (wanted.isEmpty()) {
            fillings = 0;
            timers.clear("fill");
        } else if (!timers.has("fill")) {
            fillings++;
            timers.set("fill", pause(fillings + 1), () -> fill(wanted, new ArrayList<Post>(), new ArrayList<String>()));
        }
    }

    /** Asks for one post after the other. */
    private void fill(List<String> wanted, List<Post> found, List<String> gone) {
        if (wanted.isEmpty()) {
            posts.merge(found, gone);
            changed(FeedChange.Cause.FILLED, Collections.<Post>emptyList(), gone);
            return;
        }
        String id = wanted.get(0);
        this.<Post>ask(() -> api.getPost(id), (post, error) -> {
            if (post != null && posts.has(id)) {
                found.add(post);
            } else if (error instanceof ApiException.NotFound) {
                gone.add(id);
            }
            fill(wanted.subList(1, wanted.size()), found, gone);
        });
    }

    // small things

    /** The answer is taken on the loop's thread, unless this is closed by then. */
    private <T> void ask(Loop.Question<T> question, Loop.Answered<T> answered) {
        loop.ask(question, (answer, error) -> {
            if (!closed) {
                answered.take(answer, error);
            }
        });
    }

    /** Half a second, doubled with each time, some of it by chance. */
    private long pause(int times) {
        return (long) (Math.min(LONGEST_PAUSE_MS, SOON_MS << Math.min(times, 16)) * (0.75 + random.nextDouble() / 4));
    }

    private void publish() {
        list = Collections.unmodifiableList(posts.list());
        more = posts.cursor != null;
        Long due = failure == null ? null : timers.dueIn("read");
        retryAtMs = due == null ? null : Loop.nowMs() + due;
    }

    private void changed(FeedChange.Cause cause, List<Post> came, List<String> gone) {
        if (!closed) {
            publish();
            fillSoon();
            listenOn.execute(() -> listener.onChange(new FeedChange(cause, came, gone)));
        }
    }
}
