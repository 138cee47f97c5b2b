package starling.client;

import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executor;

/**
 * The comments of one subject, live: tells an application what happens under it, and when it must read its pages again. The
 * application keeps the list, and says which version it has read. Made by {@link StarlingClient#watchComments}; any thread may call.
 *
 * <pre>
 * read(version) ----> watch                      version of the pages that the application has
 * comments  since -> version  ----> onChange     from our version, or from one before it; sampled ones are for every page
 *           anything newer    ----> onStale      the pages are to be read again, and then read() is called; what the frame says
 *                                                is gone is a sampled change at once
 * stale     version after so many ms ----> onStale; again, with growing pauses, while the pages that were read are older
 * </pre>
 */
public final class LiveThread {
    /** Sends a frame while this is the client's thread of its subject and the client is online. */
    interface Line {
        void say(LiveThread thread, Map<String, Object> frame);
    }

    private static final long SOON_MS = 500; // the first pause of those that double
    private static final long LONGEST_PAUSE_MS = 30_000;

    private final String subject;
    private final Loop loop;
    private final Loop.Timers timers;
    private final Line line;
    private final Random random;
    private final ThreadListener listener;
    private final Executor listenOn;
    private boolean closed;
    private volatile Long version;
    private Long wanted; // the version that the pages are to have
    private int readings; // that did not have it

    LiveThread(String subject, Loop loop, Line line, Random random, ThreadListener listener, Executor listenOn) {
        this.subject = subject;
        this.loop = loop;
        this.timers = loop.new Timers();
        this.line = line;
        this.random = random;
        this.listener = listener;
        this.listenOn = listenOn;
    }

    public String getSubject() {
        return subject;
    }

    /** Null: read() was not called yet. */
    public Long getVersion() {
        return version;
    }

    /** The pages that the application has are of that version now; of several pages, the lowest one. */
    public void read(long newVersion) {
        loop.execute(() -> {
            if (closed) {
                return;
            }
            version = newVersion;
            if (wanted != null && newVersion >= wanted) {
                wanted = null;
                timers.clear("stale");
            } else if (wanted != null) {
                long pause = Math.min(LONGEST_PAUSE_MS, SOON_MS << Math.min(readings, 16));
                readings++; // from a gateway's copy
                staleIn((long) (pause * (0.5 + random.nextDouble() / 2)));
            }
            connected();
        });
    }

    /** Ends it. */
    public void close() {
        loop.execute(this::end);
    }

    // what the client tells us, on the loop's thread

    void end() {
        if (!closed) {
            closed = true;
            timers.clearAll();
            line.say(this, Json.object("type", "unwatch", "what", "comments", "subject", subject));
        }
    }

    /** A new connection is open, which watches nothing yet. */
    void connected() {
        if (!closed && version != null) {
            line.say(this, Json.object("type", "watch", "what", "comments", "subject", subject, "version", version));
        }
    }

    /** `comments` */
    void told(Map<String, Object> frame) {
        boolean sampled = Boolean.TRUE.equals(frame.get("sampled"));
        long newer = Json.asLong(frame.get("version"), 0);
        if (closed || version == null || (!sampled && newer <= version)) {
            return;
        }
        if (!sampled && Json.asLong(frame.get("since"), 0) > version) {
            ThreadChange hiding = ThreadChange.hiding(frame); // must not stay until the pages were read
            if (!hiding.gone.isEmpty()) {
                tell(hiding);
            }
            want(newer, 0);
            return;
        }
        if (!sampled) {
            version = newer;
        }
        tell(ThreadChange.of(frame));
    }

    /** `stale` */
    void stale(Map<String, Object> frame) {
        long newer = Json.asLong(frame.get("version"), 0);
        if (!closed && (version == null || newer > version)) {
            want(newer, (long) Math.max(0, Json.asDouble(frame.get("after_ms"), 0)));
        }
    }

    private void tell(ThreadChange change) {
        listenOn.execute(() -> listener.onChange(change));
    }

    private void want(long newer, long afterMs) {
        if (wanted == null || wanted != newer) {
            wanted = newer;
            readings = 0;
        }
        if (!timers.has("stale")) {
            staleIn(afterMs);
        }
    }

    private void staleIn(long afterMs) {
        timers.set("stale", afterMs, () -> {
            final Long now = wanted;
            if (now != null) {
                listenOn.execute(() -> listener.onStale(now));
            }
        });
    }
}
