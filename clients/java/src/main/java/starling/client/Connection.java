package starling.client;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import okhttp3.Dispatcher;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;
import okio.ByteString;

/** One WebSocket. Loop's thread only, on which the listener is called, too. */
final class Connection {
    static final String SUBPROTOCOL = "starling.v1";
    private static final int NORMAL = 1000;
    private static final long CLOSE_TIMEOUT_MS = 2_000;

    /** Once it has ended, it says nothing more; after close() it may still say something. */
    interface Listener {
        void opened();

        /** text: null if it was binary. */
        void received(String text);

        /** reason: the server's word, or empty. why: why there was no connection; null: there was one, or it is not known. */
        void ended(int code, String reason, NoConnection why);
    }

    private final Loop loop;
    private final WebSocket socket;
    private volatile boolean open;
    private boolean ended;

    /** Throws IllegalArgumentException if the address is none. */
    Connection(Loop loop, OkHttpClient http, String url, final Listener listener) {
        this.loop = loop;
        Request request = new Request.Builder().url(url).header("Sec-WebSocket-Protocol", SUBPROTOCOL).build();
        socket = http.newWebSocket(request, new WebSocketListener() {
            @Override
            public void onOpen(WebSocket opened, Response response) {
                open = true;
                loop.execute(listener::opened);
            }

            @Override
            public void onMessage(WebSocket from, String text) {
                loop.execute(() -> listener.received(text));
            }

            @Override
            public void onMessage(WebSocket from, ByteString bytes) {
                loop.execute(() -> listener.received(null));
            }

            @Override
            public void onClosing(WebSocket closing, int code, String reason) {
                closing.close(NORMAL, null);
                end(listener, code, reason, null);
            }

            @Override
            public void onFailure(WebSocket failed, Throwable error, Response response) {
                end(listener, CloseCode.ABNORMAL, "", open ? null : whyNot(error, response));
            }
        });
    }

    /** response: null: there was none. */
    private static NoConnection whyNot(Throwable error, Response response) {
        if (response != null) {
            return NoConnection.NO_EDGE;
        }
        NoConnection why = NoConnection.of(error);
        return why == null && NoConnection.hungUp(error) ? NoConnection.TLS : why; // as it seems: so do servers that are spoken to in the other way
    }

    /** An OkHttpClient whose threads do not keep a process alive. */
    static OkHttpClient ordinaryHttp() {
        ThreadPoolExecutor threads = new ThreadPoolExecutor(0, Integer.MAX_VALUE, CLOSE_TIMEOUT_MS, TimeUnit.MILLISECONDS,
                new SynchronousQueue<Runnable>(), work -> {
                    Thread made = new Thread(work, "starling connects");
                    made.setDaemon(true);
                    return made;
                });
        return new OkHttpClient.Builder().dispatcher(new Dispatcher(threads)).build();
    }

    private void end(Listener listener, int code, String reason, NoConnection why) {
        loop.execute(() -> {
            if (!ended) {
                ended = true;
                listener.ended(code, reason, why);
            }
        });
    }

    /** Frames that cannot be sent any more are dropped. */
    void send(String text) {
        socket.send(text);
    }

    /** Says good-bye, and does not wait long for an answer. */
    void close() {
        if (!ended) {
            socket.close(NORMAL, null);
            loop.after(CLOSE_TIMEOUT_MS, () -> {
                if (!ended) {
                    socket.cancel();
                }
            });
        }
    }
}
