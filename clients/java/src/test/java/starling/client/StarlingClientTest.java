package starling.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import okio.ByteString;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/** The client against an edge that the test plays. */
public final class StarlingClientTest {
    private static final double LAT = 39.9847;
    private static final double LNG = 116.3184;

    private final Heard heard = new Heard();
    private Edge edge;
    private StarlingClient client;

    @Before
    public void start() throws IOException {
        edge = new Edge();
    }

    @After
    public void stop() throws IOException {
        if (client != null) {
            client.close();
        }
        edge.close();
    }

    private StarlingClient connect(ClientOptions options) {
        client = new StarlingClient(options);
        client.addListener(heard);
        client.connect();
        return client;
    }

    private ClientOptions options() {
        return new ClientOptions(edge.wsUrl(), "token").position(LAT, LNG, 12.0);
    }

    private Edge.Line greeted(String... friends) throws InterruptedException {
        Edge.Line line = edge.take();
        line.greet(friends);
        heard.state(State.ONLINE);
        return line;
    }

    @Test
    public void saysHelloAndKeepsTheList() throws Exception {
        connect(options());
        Edge.Line line = edge.take();
        Map<String, Object> hello = line.hear("hello");
        assertEquals(Arrays.<Object>asList("token", LAT, LNG, 12.0),
                Arrays.asList(hello.get("token"), hello.get("lat"), hello.get("lng"), hello.get("accuracy")));
        assertTrue(Math.abs(System.currentTimeMillis() - (Long) hello.get("time")) < 10_000);
        assertEquals("starling.v1", edge.requests.get(0).getHeader("Sec-WebSocket-Protocol"));
        line.greet(Edge.friend(9007199254740993L, 39.99), Edge.friend(2, 39.985));
        assertEquals(7, heard.next(Welcome.class).user);
        assertEquals(NearbyChange.Cause.PAGE, heard.next(NearbyChange.class).cause);
        assertEquals(2, client.getList().get(0).user);
        assertEquals(9007199254740993L, client.getList().get(1).user);
        assertEquals(33.4, client.getList().get(0).distance, 0.1);
        assertEquals(2, client.getTotal());
        assertFalse(client.hasMore());
        line.say("{'type':'update','near':[" + Edge.friend(5, 39.9848) + "],'gone':[2]}");
        NearbyChange change = heard.next(NearbyChange.class);
        assertEquals(5, change.came.get(0).user);
        assertEquals(Collections.singletonList(2L), change.gone);
        assertEquals(2, client.getTotal());
    }

    @Test
    public void tellsAndIsToldWhatPhonesSay() throws Exception {
        connect(options().throttle(0));
        String said = "'accuracy':5,'battery':0.25,'charging':false";
        Edge.Line line = greeted(Edge.friend(2, 39.985).replace("{", "{" + said.replace('\'', '"') + ","));
        heard.next(NearbyChange.class);
        Friend friend = client.getList().get(0);
        assertEquals(5, friend.accuracy, 0);
        assertEquals(new Details(0.25, false, null, null, null, null).toString(), friend.details.toString());
        client.move(LAT, LNG, null, new Details(null, true, 1.5, null, "cycling", null));
        Map<String, Object> report = line.hear("location");
        while (!report.containsKey("charging")) {
            report = line.hear("location");
        }
        assertEquals(Arrays.<Object>asList(true, 1.5, "cycling", null),
                Arrays.asList(report.get("charging"), report.get("speed_mps"), report.get("activity"), report.get("battery")));
        line.say("{'type':'update','near':[" + Edge.friend(2, 39.985) + "],'gone':[]}");
        heard.next(NearbyChange.class); // of the move
        heard.next(NearbyChange.class);
        assertNull(client.getList().get(0).accuracy);
        assertEquals(Details.NONE.toString(), client.getList().get(0).details.toString());
    }

    @Test
    public void movesAreReportedOnceASecondAndMeasuredAtOnce() throws Exception {
        connect(options().throttle(300));
        Edge.Line line = greeted(Edge.friend(2, 39.985));
        heard.next(NearbyChange.class);
        long began = System.nanoTime();
        for (int i = 1; i <= 5; i++) {
            client.move(LAT - i * 0.001, LNG);
            NearbyChange change = heard.next(NearbyChange.class);
            assertEquals(NearbyChange.Cause.MOVE, change.cause);
        }
        assertEquals(Geo.distance(LAT - 0.005, LNG, 39.985, LNG), client.getList().get(0).distance, 0.01);
        Map<String, Object> report = line.hear("location");
        while ((Double) report.get("lat") != Geo.round(LAT - 0.005)) {
            report = line.hear("location");
        }
        assertTrue(System.nanoTime() - began > TimeUnit.MILLISECONDS.toNanos(100));
        assertFalse(report.containsKey("accuracy"));
        assertThrows(IllegalArgumentException.class, () -> client.move(91, 0));
        assertThrows(IllegalArgumentException.class, () -> client.move(Double.NaN, 0));
    }

    @Test
    public void asksForPagesAsFarAsTheyAreWanted() throws Exception {
        connect(options());
        Edge.Line line = edge.take();
        StringBuilder first = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            first.append(i == 0 ? "" : ",").append(Edge.friend(100 + i, LAT + i * 1e-4));
        }
        line.say("{'type':'welcome','user':7,'server_time':" + System.currentTimeMillis() + "}");
        line.say("{'type':'nearby','total':21,'items':[" + first + "],'next':'c1'}");
        assertEquals(NearbyChange.Cause.PAGE, heard.next(NearbyChange.class).cause);
        assertTrue(client.hasMore());
        client.more();
        assertEquals("c1", line.hear("more").get("after"));
        line.say("{'type':'nearby','total':21,'items':[" + Edge.friend(1, LAT + 0.01) + "],'next':null}");
        NearbyChange.Cause cause;
        do {
            cause = heard.next(NearbyChange.class).cause;
        } while (cause != NearbyChange.Cause.PAGE);
        assertEquals(21, client.getList().size());
        assertTrue(client.isComplete());
    }

    @Test
    public void comesBackAfterACutAndKeepsTheListMeanwhile() throws Exception {
        connect(options());
        Edge.Line line = greeted(Edge.friend(2, 39.985));
        heard.next(NearbyChange.class);
        edge.cut();
        StateChange waiting = heard.state(State.WAITING);
        assertEquals(CloseCode.ABNORMAL, (int) waiting.code);
        assertTrue(waiting.retryAfterMs >= 100 && waiting.retryAfterMs <= 1000);
        assertEquals(1, client.getList().size());
        Edge.Line second = greeted(Edge.friend(3, 39.985));
        second.hear("hello");
        heard.next(NearbyChange.class);
        assertEquals(3, client.getList().get(0).user);
    }

    @Test
    public void waitsAsLongAsTheServerSays() throws Exception {
        connect(options());
        Edge.Line line = greeted();
        line.say("{'type':'reconnect','after_ms':600}");
        line.close(CloseCode.RESTARTING, "draining");
        StateChange waiting = heard.state(State.WAITING);
        assertEquals(CloseCode.RESTARTING, (int) waiting.code);
        assertTrue(waiting.retryAfterMs > 300 && waiting.retryAfterMs <= 660);
        greeted();
    }

    @Test
    public void restsWhenTheServerIsFull() throws Exception {
        connect(options());
        edge.take().close(CloseCode.OVERLOADED, "");
        assertTrue(heard.state(State.WAITING).retryAfterMs >= 5000);
        client.reconnect();
        greeted();
    }

    @Test
    public void staysAwayAfterElsewhereUntilAsked() throws Exception {
        connect(options());
        greeted().close(CloseCode.ELSEWHERE, "");
        assertEquals(StateChange.Reason.ELSEWHERE, heard.state(State.CLOSED).reason);
        client.reconnect();
        assertTrue(edge.quiet(300));
        client.connect();
        greeted();
    }

    @Test
    public void aRefusedTokenIsNotTriedAgain() throws Exception {
        connect(options());
        edge.take().close(CloseCode.BAD_TOKEN, "token_expired");
        assertEquals(StateChange.Reason.EXPIRED, heard.state(State.CLOSED).reason);
        assertTrue(edge.quiet(300));
        client.renew("better");
        Edge.Line line = edge.take();
        assertEquals("better", line.hear("hello").get("token"));
        line.close(CloseCode.BAD_TOKEN, "bad_token");
        assertEquals(StateChange.Reason.TOKEN, heard.state(State.CLOSED).reason);
    }

    @Test
    public void anotherWordThanATokensPasses() throws Exception {
        connect(options());
        edge.take().close(CloseCode.BAD_TOKEN, "no_hello");
        heard.state(State.WAITING);
    }

    @Test
    public void aTokenFunctionIsAskedOnceMoreAfterARefusal() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        connect(new ClientOptions(edge.wsUrl(), () -> "t" + asked.incrementAndGet()));
        edge.take().close(CloseCode.TOKEN_EXPIRED, "");
        heard.state(State.WAITING);
        Edge.Line line = edge.take();
        assertEquals("t2", line.hear("hello").get("token"));
        line.close(CloseCode.TOKEN_EXPIRED, "");
        assertEquals(StateChange.Reason.EXPIRED, heard.state(State.CLOSED).reason);
    }

    @Test
    public void aTokenFunctionThatThrowsIsToldOfAndAskedAgain() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        connect(new ClientOptions(edge.wsUrl(), () -> {
            if (asked.incrementAndGet() == 1) {
                throw new IOException("no network");
            }
            return "token";
        }));
        ClientError error = heard.next(ClientError.class);
        assertEquals(ClientError.Kind.NO_TOKEN, error.kind);
        assertTrue(error.message.contains("no network"));
        greeted();
    }

    @Test
    public void aTokenIsRenewedOnTheOpenConnection() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        connect(new ClientOptions(edge.wsUrl(), () -> {
            String claims = "{\"sub\":\"7\",\"n\":" + asked.incrementAndGet() + ",\"exp\":" + (System.currentTimeMillis() / 1000.0 + 1.3) + "}";
            return "x." + ByteString.encodeUtf8(claims).base64Url() + ".x";
        }));
        Edge.Line line = greeted();
        Object first = line.hear("hello").get("token");
        Map<String, Object> second = line.hear("hello");
        assertFalse(first.equals(second.get("token")));
        assertFalse(second.containsKey("lat")); // there is no position
        assertEquals(State.ONLINE, client.getState());
    }

    @Test
    public void theServersClockCounts() throws Exception {
        connect(options());
        Edge.Line line = edge.take();
        line.hear("hello");
        long ahead = 3_600_000;
        line.say("{'type':'welcome','user':7,'server_time':" + (System.currentTimeMillis() + ahead) + "}");
        Object time = line.hear("location").get("time"); // once more, with the right time
        assertTrue(Math.abs((Long) time - System.currentTimeMillis() - ahead) < 10_000);
        assertTrue(Math.abs(client.serverNow() - System.currentTimeMillis() - ahead) < 10_000);
    }

    @Test
    public void garbageIsToldOfAndChangesNothing() throws Exception {
        connect(options());
        Edge.Line line = greeted(Edge.friend(2, 39.985));
        String[] garbage = {"", "{", "[]", "null", "7", "'x'", "{'type':'nearby'}", "{'type':'nearby','items':7}",
            "{'type':'update','near':{}}", "{'type':'welcome'}", "{} {}", "\0", "{'a':NaN}"};
        for (String text : garbage) {
            line.say(text);
            assertEquals(text, ClientError.Kind.BAD_FRAME, heard.next(ClientError.class).kind);
        }
        line.sayBytes(ByteString.of((byte) 1));
        assertEquals(ClientError.Kind.BAD_FRAME, heard.next(ClientError.class).kind);
        line.say("{'type':'festival'}");
        line.say("{'type':'update','near':[null,7,{},{'user':1}],'gone':[{},null]}");
        line.say("{'type':'error','code':'bad_time','message':'late'}");
        ClientError error = heard.next(ClientError.class);
        assertEquals(ClientError.Kind.BAD_TIME, error.kind);
        assertEquals("bad_time: late", error.toString());
        assertEquals(1, client.getList().size());
        assertEquals(State.ONLINE, client.getState());
    }

    @Test
    public void anAddressThatIsNoneIsToldOf() throws Exception {
        connect(new ClientOptions("wss://", "token"));
        assertEquals(ClientError.Kind.BAD_URL, heard.next(ClientError.class).kind);
        assertEquals(StateChange.Reason.URL, heard.state(State.CLOSED).reason);
    }

    @Test
    public void silentFriendsBecomeStaleAndAreForgotten() throws Exception {
        connect(options().staleAfter(1));
        Edge.Line line = edge.take();
        line.say("{'type':'welcome','user':7,'server_time':" + System.currentTimeMillis() + ",'inactive_after_s':0.5}");
        line.say("{'type':'nearby','total':1,'items':[" + Edge.friend(2, 39.985) + "],'next':null}");
        NearbyChange change;
        do {
            change = heard.next(NearbyChange.class);
        } while (change.cause != NearbyChange.Cause.EXPIRY);
        assertEquals(Collections.singletonList(2L), change.gone);
        assertEquals(0, client.getTotal());
    }

    @Test
    public void aCheckSaysHelloOnTheOpenConnection() throws Exception {
        connect(options());
        Edge.Line line = greeted();
        line.hear("hello");
        client.check();
        line.hear("hello");
    }

    @Test
    public void closingSaysGoodbyeAndForgets() throws Exception {
        connect(options());
        Edge.Line line = greeted(Edge.friend(2, 39.985));
        heard.next(NearbyChange.class);
        client.close();
        heard.state(State.IDLE);
        assertEquals(1000, line.waitClosed());
        assertTrue(client.getList().isEmpty());
    }

    @Test
    public void listenersAreCalledWhereTheApplicationWants() throws Exception {
        LinkedBlockingQueue<String> threads = new LinkedBlockingQueue<>();
        ExecutorService main = Executors.newSingleThreadExecutor(work -> new Thread(work, "main thread"));
        connect(options().listenOn(main));
        client.addListener(new ClientListener() {
            @Override
            public void onState(StateChange change) {
                threads.add(Thread.currentThread().getName());
            }
        });
        greeted();
        client.close();
        heard.state(State.IDLE); // the last thing that is told
        main.shutdown();
        assertTrue(main.awaitTermination(10, TimeUnit.SECONDS));
        assertFalse(threads.isEmpty());
        assertEquals(Collections.singleton("main thread"), new HashSet<>(threads));
    }
}
