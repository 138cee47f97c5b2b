package starling.client;

import java.util.concurrent.Executor;
import okhttp3.OkHttpClient;

/** The options of a {@link StarlingClient}. Only the address and the token must be given. */
public final class ClientOptions {
    final String url;
    final Tokens tokens;
    OkHttpClient http;
    Executor listenOn = Runnable::run;
    Double lat;
    Double lng;
    Double accuracy;
    long throttleMs = 1_000;
    boolean prefetch;
    Long staleAfterMs;
    long clockOffsetMs;
    String device;

    /** url: ws:// or wss://. token: a JWT. */
    public ClientOptions(String url, String token) {
        this(url, Tokens.of(token));
    }

    /** url: ws:// or wss://. token: asked for a JWT whenever one is needed. */
    public ClientOptions(String url, TokenFunction token) {
        this(url, Tokens.of(token));
    }

    private ClientOptions(String url, Tokens tokens) {
        this.url = url;
        this.tokens = tokens;
    }

    /** The application's OkHttpClient, with its certificates, proxy and threads. Default: one of the client's own. */
    public ClientOptions http(OkHttpClient client) {
        http = client;
        return this;
    }

    /** Where listeners are called; on Android as a rule the main thread: `new Handler(Looper.getMainLooper())::post`. It must keep
     * the order. Default: on the client's own thread, which listeners must not block. */
    public ClientOptions listenOn(Executor executor) {
        listenOn = executor;
        return this;
    }

    /**
     * Where I am. Without it, and until move(), I see no friends and am seen by none; the feed and comments can be watched all the same.
     * accuracy: metres, or null. Throws InvalidPosition if it is none.
     */
    public ClientOptions position(double newLat, double newLng, Double newAccuracy) {
        Geo.checkPosition(newLat, newLng);
        lat = newLat;
        lng = newLng;
        accuracy = newAccuracy;
        return this;
    }

    /** Moves closer together than this make one report. Default: a second. */
    public ClientOptions throttle(long ms) {
        throttleMs = ms;
        return this;
    }

    /** Asks for the pages beyond what more() wants, too, one every quarter of a second. */
    public ClientOptions prefetch(boolean on) {
        prefetch = on;
        return this;
    }

    /** A friend whose last report is this old is stale. Default: four times the server's report_every_s. */
    public ClientOptions staleAfter(long ms) {
        staleAfterMs = ms;
        return this;
    }

    /** The name of this device, which my list of devices shows: 1 to 64 bytes. */
    public ClientOptions device(String name) {
        device = name;
        return this;
    }

    /** Server time minus local time, as far as it is known before the first welcome. */
    public ClientOptions clockOffset(long ms) {
        clockOffsetMs = ms;
        return this;
    }
}
