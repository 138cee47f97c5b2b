package starling.client;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import okhttp3.OkHttpClient;

/**
 * The work of a {@link StarlingClient}: its connections one after the other, what is said over them, and what is known. Everything is
 * called on the loop's thread, except where it says otherwise.
 */
final class ClientCore implements NearbySession.Line {
    private static final long WELCOME_TIMEOUT_MS = 10_000;
    private static final long CLOSE_GRACE_MS = 1_000; // from a server's word that we should reconnect to its close
    private static final long TOKEN_TIMEOUT_MS = 30_000; // for an application's token function to answer
    private static final long HELD_MS = 10_000; // a connection that held this long was a good one
    private static final long CLOCK_SLACK_MS = 1_000; // the way back and forth; below it the clocks agree

    private final ClientOptions options;
    private final OkHttpClient http;
    private final Reporter reporter;
    private final NearbySession nearby;
    private final Loop.Timers timers;
    private final Map<String, LiveThread> threads = new HashMap<>(); // by subject
    private LiveFeed feed;
    private LiveNotices notices;
    private Tokens tokens;
    private String token = "";
    private Object before; // the session of the connection before, as its welcome said it
    private Connection connection; // null: none
    private int attempt; // what an earlier attempt still says is of no interest
    private int asked; // so are the answers of token functions that were asked before the last time
    private int failures;
    private long onlineSinceMs;
    private Long reconnectAtMs; // the server said so; null: it did not

    final Loop loop = new Loop();
    final Random random = new Random();
    final List<ClientListener> listeners = new CopyOnWriteArrayList<>(); // for any thread

    // what any thread may see
    private volatile double clockOffsetMs;
    volatile State state = State.IDLE;
    volatile Welcome welcome;
    volatile List<Friend> list = Collections.emptyList();
    volatile List<Friend> known = Collections.emptyList();
    volatile long total;
    volatile boolean more;
    volatile boolean complete = true;

    /** Any thread may call. */
    ClientCore(ClientOptions options) {
        this.options = options;
        http = options.http != null ? options.http : Connection.ordinaryHttp();
        timers = loop.new Timers();
        tokens = options.tokens;
        clockOffsetMs = options.clockOffsetMs;
        reporter = new Reporter(this, timers, options.throttleMs);
        nearby = new NearbySession(this, timers, options.prefetch, options.staleAfterMs);
        if (options.lat != null) {
            placeAt(options.lat, options.lng, options.accuracy, Details.NONE);
        }
    }

    /** Any thread may call. */
    @Override
    public double serverNow() {
        return System.currentTimeMillis() + clockOffsetMs;
    }

    @Override
    public void changed(NearbyChange change) {
        publish();
        tell(listener -> listener.onChange(change));
    }

    // what the application asks for

    void connect() {
        if (state != State.CONNECTING && state != State.ONLINE) {
            failures = 0;
            tokens.trust();
            start();
        }
    }

    void reconnect() {
        if (state != State.IDLE && state != State.CLOSED) {
            failures = 0;
            start();
        }
    }

    void check() {
        if (state == State.ONLINE && !timers.has("welcome")) {
            sendHello();
            expectWelcome();
        }
    }

    void close() {
        stop();
        nearby.list.clear();
        publish();
        if (state != State.IDLE) {
            setState(State.IDLE, null, null);
        }
    }

    void renew(Tokens newer) {
        tokens = newer;
        if (state == State.ONLINE) {
            renewToken();
        } else if (state != State.IDLE) {
            start();
        }
    }

    /** A position. accuracy: null: not known. */
    void move(double lat, double lng, Double accuracy, Details details) {
        placeAt(lat, lng, accuracy, details);
        if (state == State.ONLINE) {
            reporter.soon();
        }
        changed(new NearbyChange(NearbyChange.Cause.MOVE));
    }

    void more() {
        nearby.more();
    }

    void discover(String after, Integer limit) {
        if (state != State.ONLINE) {
            failed("offline", "There is no connection.");
            return;
        }
        Map<String, Object> frame = new LinkedHashMap<>();
        frame.put("type", "discover");
        if (after != null) {
            frame.put("after", after);
        }
        if (limit != null) {
            frame.put("limit", limit);
        }
        send(frame);
    }

    void watch(LiveFeed made) {
        if (feed != null) {
            feed.end();
        }
        feed = made;
    }

    void watch(LiveThread made) {
        LiveThread earlier = threads.get(made.getSubject());
        if (earlier != null) {
            earlier.end();
        }
        threads.put(made.getSubject(), made);
    }

    void watch(LiveNotices made) {
        if (notices != null) {
            notices.end();
        }
        notices = made;
        made.connected();
    }

    // the connection

    private void start() {
        stop();
        attempt();
    }

    /** Abandons what is under way; the socket is closed behind our back. */
    private void stop() {
        attempt++;
        asked++;
        drop();
        timers.clearAll();
        nearby.disconnected();
    }

    /** The socket is of no use any more, whether or not it knows. */
    private void drop() {
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }

    private void attempt() {
        final int mine = ++attempt;
        reconnectAtMs = null;
        nearby.opening();
        setState(State.CONNECTING, null, null);
        askForToken((got, error) -> {
            if (error == null) {
                open(mine, got);
            } else {
                failed("no_token", error);
                lost(CloseCode.ABNORMAL, "", null);
            }
        });
    }

    private interface GotToken {
        /** One of the two is null. */
        void take(String token, String error);
    }

    private void askForToken(GotToken done) {
        final Tokens source = tokens;
        final int mine = ++asked;
        timers.set("token", TOKEN_TIMEOUT_MS, () -> {
            asked++;
            done.take(null, "The token function does not answer.");
        });
        loop.wait(() -> {
            String got = null;
            String error = null;
            try {
                got = source.get();
            } catch (Exception thrown) { // the application's function may throw what it likes
                error = thrown.toString();
            }
            final String token = got;
            final String why = error;
            loop.execute(() -> {
                if (mine == asked) {
                    timers.clear("token");
                    done.take(token, why);
                }
            });
        });
    }

    private void open(final int mine, String got) {
        token = got;
        expectWelcome();
        try {
            connection = new Connection(loop, http, options.url, new Connection.Listener() {
                @Override
                public void opened() {
                    if (mine == attempt) {
                        expectWelcome();
                        sendHello();
                    }
                }

                @Override
                public void received(String text) {
                    if (mine == attempt) {
                        ClientCore.this.received(text);
                    }
                }

                @Override
                public void ended(int code, String reason, NoConnection why) {
                    if (mine == attempt) {
                        lost(code, reason, why);
                    }
                }
            });
        } catch (IllegalArgumentException notAnAddress) {
            failed("bad_url", String.valueOf(notAnAddress.getMessage()));
            stop();
            setState(State.CLOSED, StateChange.Reason.URL, null);
        }
    }

    private void expectWelcome() {
        timers.set("welcome", WELCOME_TIMEOUT_MS, () -> lost(CloseCode.ABNORMAL, "", null));
    }

    /** Tells of it, and tries again unless that is of no use. */
    private void lost(int code, String said, NoConnection why) {
        if (state == State.ONLINE && Loop.nowMs() - onlineSinceMs >= HELD_MS) {
            failures = 0;
        }
        stop();
        StateChange.Reason reason = finalReason(code, said);
        if (reason != null) {
            setState(State.CLOSED, reason, code);
            return;
        }
        long delay = reconnectAtMs == null
                ? Backoff.pause(failures, random, code == CloseCode.OVERLOADED ? Backoff.OVERLOADED_MS : 0)
                : Math.max(0, reconnectAtMs - Loop.nowMs());
        failures++;
        timers.set("retry", delay, this::attempt);
        setState(State.WAITING, null, code, delay, why);
    }

    /** Why there is no coming back by ourselves; null: there is. */
    private StateChange.Reason finalReason(int code, String why) {
        if (code == CloseCode.ELSEWHERE) {
            return StateChange.Reason.ELSEWHERE;
        }
        boolean expired = code == CloseCode.TOKEN_EXPIRED || why.equals("token_expired");
        // 1008 is said of other things, too: a hello that came too late over a bad network, say. Those pass.
        boolean refused = code == CloseCode.BAD_TOKEN && (why.isEmpty() || why.equals("bad_token") || expired);
        if ((code != CloseCode.TOKEN_EXPIRED && !refused) || tokens.refused()) {
            return null;
        }
        return expired ? StateChange.Reason.EXPIRED : StateChange.Reason.TOKEN;
    }

    private void received(String text) {
        Map<String, Object> frame;
        try {
            frame = text == null ? null : Frames.read(text);
        } catch (IOException unreadable) {
            frame = null;
        }
        if (frame == null) {
            badFrame();
            return;
        }
        Object subject = frame.get("subject");
        LiveThread thread = subject instanceof String ? threads.get(subject) : null;
        switch (String.valueOf(frame.get("type"))) {
            case "welcome":
                welcomed(frame);
                break;
            case "nearby":
                nearby.paged(frame);
                break;
            case "update":
                nearby.updated(frame);
                break;
            case "posts":
                if (feed != null) {
                    feed.posted(frame);
                }
                break;
            case "comments":
                if (thread != null) {
                    thread.told(frame);
                }
                break;
            case "stale":
                if ("feed".equals(frame.get("what")) && feed != null) {
                    feed.stale(frame);
                } else if ("comments".equals(frame.get("what")) && thread != null) {
                    thread.stale(frame);
                }
                break;
            case "notices":
                if (notices != null) {
                    notices.told(frame);
                }
                break;
            case "strangers":
                discovered(frame);
                break;
            case "strangers_gone":
                strangersGone(Json.asList(frame.get("gone")));
                break;
            case "reconnect":
                toldToReconnect(frame);
                break;
            case "error":
                refused(frame);
                break;
            default: // a newer server may say more than we understand
        }
    }

    private void welcomed(Map<String, Object> frame) {
        boolean first = state != State.ONLINE;
        double now = System.currentTimeMillis();
        Welcome said = new Welcome(frame, now);
        if (Math.abs(said.serverTime - now - clockOffsetMs) > CLOCK_SLACK_MS) {
            clockOffsetMs = said.serverTime - now;
            reporter.forget();
        }
        welcome = said;
        before = frame.get("session");
        nearby.welcomed(said);
        timers.clear("welcome");
        tokens.trust();
        scheduleRenewal();
        if (first) {
            onlineSinceMs = Loop.nowMs();
            setState(State.ONLINE, null, null);
        }
        reporter.welcomed(said.reportEveryMs);
        if (first && feed != null) {
            feed.connected();
        }
        if (first && notices != null) {
            notices.connected();
        }
        for (LiveThread thread : first ? new ArrayList<>(threads.values()) : Collections.<LiveThread>emptyList()) {
            thread.connected();
        }
        tell(listener -> listener.onWelcome(said));
    }

    private void toldToReconnect(Map<String, Object> frame) {
        long after = Backoff.directed(Json.asDouble(frame.get("after_ms"), 0), random);
        reconnectAtMs = Loop.nowMs() + after;
        // The server closes when it likes until then, or right after. If it never does, we keep to what was said.
        timers.set("reconnect", Math.max(after, CLOSE_GRACE_MS), this::start);
    }

    // the token

    /** A function can be asked for the next token before this one ends. */
    private void scheduleRenewal() {
        Long wait = tokens.renewIn(token, serverNow());
        if (wait == null) {
            timers.clear("renewal");
        } else {
            timers.set("renewal", wait, this::renewToken);
        }
    }

    private void renewToken() {
        askForToken((got, error) -> {
            if (error != null) {
                failed("no_token", error);
                scheduleRenewal();
            } else {
                token = got;
                sendHello();
            }
        });
    }

    // what is said

    private void sendHello() {
        Map<String, Object> hello = Json.object("type", "hello", "token", token, "device", options.device,
                "before", state == State.ONLINE ? null : before);
        reporter.hello(hello);
        send(hello);
    }

    private void placeAt(double lat, double lng, Double accuracy, Details details) {
        reporter.move(Geo.round(lat), Geo.round(lng), accuracy, details);
        nearby.list.place(Geo.round(lat), Geo.round(lng));
    }

    void sayOfFeed(LiveFeed of, Map<String, Object> frame) {
        if (feed == of && state == State.ONLINE) {
            send(frame);
        }
    }

    void sayOfNotices(LiveNotices of, Map<String, Object> frame) {
        if (notices == of && state == State.ONLINE) {
            send(frame);
        }
    }

    void sayOfThread(LiveThread of, Map<String, Object> frame) {
        if (threads.get(of.getSubject()) != of) {
            return;
        }
        if ("unwatch".equals(frame.get("type"))) {
            threads.remove(of.getSubject());
        }
        if (state == State.ONLINE) {
            send(frame);
        }
    }

    /** A frame that cannot be sent is of no use later: the next connection begins with a hello. */
    @Override
    public void send(Map<String, Object> frame) {
        if (connection != null) {
            connection.send(Json.write(frame));
        }
    }

    // listeners

    private interface Telling {
        void to(ClientListener listener);
    }

    private void tell(Telling telling) {
        options.listenOn.execute(() -> {
            for (ClientListener listener : listeners) {
                telling.to(listener);
            }
        });
    }

    private void failed(String code, String message) {
        failed(new ClientError(code, message));
    }

    private void failed(ClientError error) {
        if (error.about == null) {
            nearby.refused(error.kind);
        }
        tell(listener -> listener.onError(error));
    }

    private void badFrame() {
        failed("bad_frame", "The server sent what is not a frame.");
    }

    private void refused(Map<String, Object> frame) {
        String code = String.valueOf(frame.get("code"));
        Object message = frame.get("message");
        Object after = frame.get("after_ms");
        failed(new ClientError(code, message == null ? code : message.toString(), Json.asText(frame.get("about")),
                after instanceof Long ? (Long) after : null));
    }

    private void discovered(Map<String, Object> frame) {
        Strangers page = Strangers.read(frame);
        if (page == null) {
            badFrame();
        } else {
            tell(listener -> listener.onStrangers(page));
        }
    }

    private void strangersGone(List<?> users) {
        List<Long> gone = new ArrayList<>();
        for (Object user : users) {
            if (user instanceof Long) {
                gone.add((Long) user);
            }
        }
        tell(listener -> listener.onStrangersGone(Collections.unmodifiableList(gone)));
    }

    private void publish() {
        list = nearby.list.list();
        known = nearby.list.known();
        total = nearby.list.total();
        more = nearby.list.hasMore();
        complete = nearby.list.isComplete();
    }

    private void setState(State newState, StateChange.Reason reason, Integer code) {
        setState(newState, reason, code, null, null);
    }

    private void setState(State newState, StateChange.Reason reason, Integer code, Long retryAfterMs, NoConnection why) {
        state = newState;
        StateChange change = new StateChange(newState, reason, code, retryAfterMs, why);
        tell(listener -> listener.onState(change));
    }
}
