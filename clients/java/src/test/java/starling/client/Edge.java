package starling.client;

import static org.junit.Assert.assertTrue;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ServerSocketFactory;
import okhttp3.Response;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;
import okhttp3.mockwebserver.Dispatcher;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.RecordedRequest;
import okio.ByteString;

/** An edge that the test plays: takes connections, and the test says what each is told. Other requests are answered by `http`. */
final class Edge extends Dispatcher implements Closeable {
    /** The answer to a request that is no WebSocket. */
    interface Http {
        MockResponse answer(RecordedRequest request) throws InterruptedException;
    }

    /** A connection as the edge has it. */
    static final class Line extends WebSocketListener {
        private final LinkedBlockingQueue<Map<String, Object>> heard = new LinkedBlockingQueue<>();
        private final LinkedBlockingQueue<WebSocket> opened = new LinkedBlockingQueue<>();
        private final LinkedBlockingQueue<Integer> closed = new LinkedBlockingQueue<>();
        private WebSocket socket;

        @Override
        public void onOpen(WebSocket from, Response response) {
            opened.add(from);
        }

        @Override
        public void onMessage(WebSocket from, String text) {
            try {
                heard.add(Json.readObject(text));
            } catch (IOException notJson) {
                throw new AssertionError(notJson);
            }
        }

        @Override
        public void onClosing(WebSocket from, int code, String reason) {
            from.close(1000, null);
            closed.add(code);
        }

        /** The next frame of that type; others are passed over. */
        Map<String, Object> hear(String type) throws InterruptedException {
            for (;;) {
                Map<String, Object> frame = heard.poll(10, TimeUnit.SECONDS);
                assertTrue("no " + type, frame != null);
                if (type.equals(frame.get("type"))) {
                    return frame;
                }
            }
        }

        void say(String text) {
            assertTrue(socket.send(text.replace('\'', '"')));
        }

        void sayBytes(ByteString bytes) {
            assertTrue(socket.send(bytes));
        }

        void close(int code, String reason) {
            assertTrue(socket.close(code, reason));
        }

        int waitClosed() throws InterruptedException {
            Integer code = closed.poll(10, TimeUnit.SECONDS);
            assertTrue("not closed", code != null);
            return code;
        }

        /** A welcome, and a first page of those items. */
        void greet(String... items) {
            say("{'type':'welcome','user':7,'server_time':" + System.currentTimeMillis()
                    + ",'radius_m':8046.72,'report_every_s':30,'inactive_after_s':600}");
            say("{'type':'nearby','total':" + items.length + ",'items':[" + String.join(",", items) + "],'next':null}");
        }
    }

    /** Makes listening sockets that keep what they accept. */
    private static final class Listening extends ServerSocketFactory {
        private final List<Socket> accepted;

        Listening(List<Socket> accepted) {
            this.accepted = accepted;
        }

        @Override
        public ServerSocket createServerSocket() throws IOException {
            return new ServerSocket() {
                @Override
                public Socket accept() throws IOException {
                    Socket socket = super.accept();
                    accepted.add(socket);
                    return socket;
                }
            };
        }

        @Override
        public ServerSocket createServerSocket(int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ServerSocket createServerSocket(int port, int backlog) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ServerSocket createServerSocket(int port, int backlog, InetAddress address) {
            throw new UnsupportedOperationException();
        }
    }

    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    final MockWebServer server = new MockWebServer();
    final List<RecordedRequest> requests = new CopyOnWriteArrayList<>();
    private final LinkedBlockingQueue<Line> lines = new LinkedBlockingQueue<>();
    volatile Http http;

    Edge() throws IOException {
        server.setServerSocketFactory(new Listening(sockets));
        server.setDispatcher(this);
        server.start();
    }

    @Override
    public MockResponse dispatch(RecordedRequest request) throws InterruptedException {
        requests.add(request);
        if (request.getHeader("Upgrade") == null) {
            return http.answer(request);
        }
        Line line = new Line();
        lines.add(line);
        return new MockResponse().withWebSocketUpgrade(line).setHeader("Sec-WebSocket-Protocol", "starling.v1");
    }

    String wsUrl() {
        return "ws://127.0.0.1:" + server.getPort() + "/";
    }

    String httpUrl() {
        return "http://127.0.0.1:" + server.getPort();
    }

    /** The next connection, once it is open. */
    Line take() throws InterruptedException {
        Line line = lines.poll(10, TimeUnit.SECONDS);
        assertTrue("no connection", line != null);
        line.socket = line.opened.poll(10, TimeUnit.SECONDS);
        assertTrue("the connection does not open", line.socket != null);
        return line;
    }

    /** Ends all connections without a word. */
    void cut() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    /** No connection comes within that time. */
    boolean quiet(long ms) throws InterruptedException {
        return lines.poll(ms, TimeUnit.MILLISECONDS) == null;
    }

    static String friend(long user, double lat) {
        return "{'user':" + user + ",'name':'U" + user + "','avatar_url':'','lat':" + lat + ",'lng':116.3184,'distance_m':1.0,'time':"
                + System.currentTimeMillis() + "}";
    }

    static String post(long id) {
        return "{'id':'" + id + "','user':42,'name':'Ben','avatar_url':'','text':'t" + id + "','media':[],'time':1}";
    }

    static MockResponse json(int status, String text) {
        return new MockResponse().setResponseCode(status).setHeader("Content-Type", "application/json").setBody(text.replace('\'', '"'));
    }

    @Override
    public void close() throws IOException {
        server.shutdown();
    }
}
