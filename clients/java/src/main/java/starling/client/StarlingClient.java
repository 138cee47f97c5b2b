package starling.client;

import java.io.Closeable;
import java.util.List;

/**
 * One phone: a connection to starling's edge that comes back by itself, my position reported over it, my nearby friends, my home
 * timeline, threads of comments and notices kept up to date.
 *
 * <pre>
 * idle --connect--> connecting --welcome--> online
 *                     ^    |                  |
 *                     |    +--closed----------+--> waiting (then connecting again)
 *                     |                       +--> closed  (bad or expired token, connected elsewhere: not by itself)
 *                     +--connect, renew--------------- '
 *
 * StarlingClient client = new StarlingClient(new ClientOptions("ws://localhost:8081/", token).position(39.9847, 116.3184, null));
 * client.addListener(new ClientListener() {
 *     public void onChange(NearbyChange change) { show(client.getList(), client.getTotal()); }
 * });
 * client.connect();
 * </pre>
 *
 * Any thread may call everything, and nothing waits: what one does with a client happens a moment later, on a thread of its own. What
 * getters return is as of the last event.
 */
public final class StarlingClient implements Closeable {
    public static final String SUBPROTOCOL = Connection.SUBPROTOCOL;

    private final ClientOptions options;
    private final ClientCore core;

    public StarlingClient(ClientOptions options) {
        this.options = options;
        core = new ClientCore(options);
    }

    // what is known

    public State getState() {
        return core.state;
    }

    /** Null before the first one. */
    public Welcome getWelcome() {
        return core.welcome;
    }

    /** The nearest friends, twenty and as many more as more() asked for; not to be changed, and never changed later. */
    public List<Friend> getList() {
        return core.list;
    }

    /** Every friend known to be near, nearest first: pages and whoever an update named. */
    public List<Friend> getKnown() {
        return core.known;
    }

    /** How many friends are near: exact once complete, else as the server said last (and at least what is known). */
    public long getTotal() {
        return core.total;
    }

    public boolean hasMore() {
        return core.more;
    }

    /** Every page has come. */
    public boolean isComplete() {
        return core.complete;
    }

    /** Ms since the epoch by the server's clock. */
    public double serverNow() {
        return core.serverNow();
    }

    public void addListener(ClientListener listener) {
        core.listeners.add(listener);
    }

    public void removeListener(ClientListener listener) {
        core.listeners.remove(listener);
    }

    // what one does with it

    /** Connects now, and again whenever the connection is lost. */
    public void connect() {
        core.loop.execute(core::connect);
    }

    /** The network has changed: whatever the socket believes, start afresh. Does nothing while idle or closed. */
    public void reconnect() {
        core.loop.execute(core::reconnect);
    }

    /**
     * The device has slept: is the connection what it seems to be? A hello that nobody answers ends it, and it is made anew. Does nothing
     * unless online.
     */
    public void check() {
        core.loop.execute(core::check);
    }

    /** Leaves and forgets the list; connect() may follow. */
    @Override
    public void close() {
        core.loop.execute(core::close);
    }

    /** A newer token of the same user: renews an open connection, or opens the one that ended for want of it. */
    public void renew(String newer) {
        final Tokens tokens = Tokens.of(newer);
        core.loop.execute(() -> core.renew(tokens));
    }

    /** Another token function, likewise. */
    public void renew(TokenFunction newer) {
        final Tokens tokens = Tokens.of(newer);
        core.loop.execute(() -> core.renew(tokens));
    }

    /** As the other one, without an accuracy. */
    public void move(double lat, double lng) {
        move(lat, lng, null);
    }

    /**
     * I am here now. Distances change at once; the report goes out at once, too, but not more than one a second. accuracy: metres, or
     * null. Throws InvalidPosition if it is none.
     */
    public void move(double lat, double lng, Double accuracy) {
        move(lat, lng, accuracy, Details.NONE);
    }

    /** As the other one, with what the phone says beside the place. */
    public void move(double lat, double lng, Double accuracy, Details details) {
        Geo.checkPosition(lat, lng);
        core.loop.execute(() -> core.move(lat, lng, accuracy, details));
    }

    /** Twenty more in the list. */
    public void more() {
        core.loop.execute(core::more);
    }

    /**
     * Asks for a page of strangers nearby over the connection: the same as {@link StarlingApi#getStrangers}. The answer is
     * {@link ClientListener#onStrangers}, or an error about discover. One question at a time: of several, the last one is answered.
     */
    public void discover(String after, Integer limit) {
        core.loop.execute(() -> core.discover(after, limit));
    }

    /** Reads my home timeline and keeps it up to date from now on. One at a time: an earlier one is closed. */
    public LiveFeed watchFeed(StarlingApi api, FeedListener listener) {
        final LiveFeed made = new LiveFeed(core.loop, api, core::sayOfFeed, core.random, listener, options.listenOn);
        core.loop.execute(() -> core.watch(made));
        made.refresh();
        return made;
    }

    /**
     * Tells what happens under a subject from the call of the thread's read() on. An earlier thread of the same subject is closed. Throws
     * IllegalArgumentException if it is not a subject.
     */
    public LiveThread watchComments(String subject, ThreadListener listener) {
        if (!StarlingApi.isSubject(subject)) {
            throw new IllegalArgumentException("not a subject: " + subject);
        }
        final LiveThread made = new LiveThread(subject, core.loop, core::sayOfThread, core.random, listener, options.listenOn);
        core.loop.execute(() -> core.watch(made));
        return made;
    }

    /** Tells my notices from now on, as they come. One at a time: an earlier one is closed. */
    public LiveNotices watchNotices(NoticesListener listener) {
        final LiveNotices made = new LiveNotices(core.loop, core::sayOfNotices, listener, options.listenOn);
        core.loop.execute(() -> core.watch(made));
        return made;
    }
}
