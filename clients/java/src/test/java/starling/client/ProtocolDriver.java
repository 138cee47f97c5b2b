package starling.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.OkHttpClient;

/** Drives one client for the protocol's test suite; tests/protocol/README.md says how it is spoken to. */
public final class ProtocolDriver implements ClientListener, FeedListener, NoticesListener {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    /** As the other clients call it. */
    private static final Map<NoConnection, String> KINDS = Map.of(NoConnection.REFUSED, "ConnectionRefused", NoConnection.UNKNOWN_HOST, "NotConnected",
            NoConnection.CERTIFICATE, "CertificateRefused", NoConnection.TLS, "TlsMismatch", NoConnection.NO_EDGE, "NotAnEdge");

    private final Map<String, Object> options;
    private final OkHttpClient http = trusting(System.getenv("SSL_CERT_FILE"));
    private final BlockingQueue<String> tokens = new LinkedBlockingQueue<>();
    private final StarlingClient client;
    private volatile LiveFeed feed;
    private LiveNotices notices;

    private ProtocolDriver(Map<String, Object> options) throws IOException, GeneralSecurityException {
        this.options = options;
        String url = (String) options.get("url");
        String token = (String) options.get("token");
        ClientOptions made = token == null ? new ClientOptions(url, this::askForToken) : new ClientOptions(url, token);
        made.http(http).prefetch(Boolean.TRUE.equals(options.get("prefetch")));
        if (options.get("lat") != null) {
            made.position(number(options, "lat"), number(options, "lng"), null);
        }
        if (options.get("stale_after_s") != null) {
            made.staleAfter((long) (number(options, "stale_after_s") * 1000));
        }
        if (options.get("device") != null) {
            made.device((String) options.get("device"));
        }
        client = new StarlingClient(made);
        client.addListener(this);
    }

    private String askForToken() throws InterruptedException {
        say("token");
        return tokens.take();
    }

    /** pem: a file of the authorities that are trusted; null: those of the machine. */
    private static OkHttpClient trusting(String pem) throws IOException, GeneralSecurityException {
        if (pem == null) {
            return new OkHttpClient();
        }
        KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
        authorities.load(null, null);
        try (InputStream file = Files.newInputStream(Paths.get(pem))) {
            for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                authorities.setCertificateEntry(Integer.toString(authorities.size()), one);
            }
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(authorities);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return new OkHttpClient.Builder().sslSocketFactory(context.getSocketFactory(), (X509TrustManager) trust.getTrustManagers()[0]).build();
    }

    private static double number(Map<String, Object> from, String name) {
        return Json.asDouble(from.get(name), Double.NaN);
    }

    private static void say(String event, Object... namesAndValues) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        for (int i = 0; i < namesAndValues.length; i += 2) {
            line.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        OUT.println(Json.write(line));
    }

    private static String lower(Enum<?> word) {
        return word == null ? null : word.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public void onState(StateChange change) {
        say("state", "state", lower(change.state), "reason", lower(change.reason), "code", change.code,
                "retry_in_s", change.retryAfterMs == null ? null : change.retryAfterMs / 1000.0,
                "error", change.why == null ? null : KINDS.get(change.why));
    }

    @Override
    public void onWelcome(Welcome welcome) {
        say("welcome", "user", Long.toString(welcome.user), "radius_m", welcome.radiusM, "report_every_s", welcome.reportEveryMs / 1000.0,
                "inactive_after_s", welcome.inactiveAfterMs / 1000.0);
    }

    @Override
    public void onChange(NearbyChange change) {
        List<Object> came = new ArrayList<>();
        for (Friend friend : change.came) {
            came.add(Long.toString(friend.user));
        }
        List<Object> gone = new ArrayList<>();
        for (Long user : change.gone) {
            gone.add(user.toString());
        }
        List<Object> rows = new ArrayList<>();
        for (Friend friend : client.getList()) {
            rows.add(Arrays.<Object>asList(Long.toString(friend.user), friend.name, friend.distance, friend.time, friend.stale));
        }
        say("change", "cause", lower(change.cause), "came", came, "gone", gone, "list", rows, "known", client.getKnown().size(),
                "total", client.getTotal(), "has_more", client.hasMore(), "complete", client.isComplete());
    }

    @Override
    public void onStrangers(Strangers page) {
        List<Object> rows = new ArrayList<>();
        for (Stranger stranger : page.items) {
            rows.add(Arrays.<Object>asList(Long.toString(stranger.user), stranger.distance));
        }
        say("strangers", "list", rows);
    }

    @Override
    public void onStrangersGone(List<Long> gone) {
        List<Object> users = new ArrayList<>();
        for (Long user : gone) {
            users.add(user.toString());
        }
        say("strangers_gone", "gone", users);
    }

    @Override
    public void onError(ClientError error) {
        say("error", "code", error.code);
    }

    @Override
    public void onChange(FeedChange change) {
        List<Object> came = new ArrayList<>();
        for (Post post : change.came) {
            came.add(post.id);
        }
        List<Object> rows = new ArrayList<>();
        for (Post post : feed.getList()) {
            rows.add(Arrays.<Object>asList(post.id, Long.toString(post.user), post.name, post.text, post.unavailable));
        }
        say("feed", "cause", lower(change.cause), "came", came, "gone", change.gone, "list", rows, "has_more", feed.hasMore(),
                "complete", feed.isComplete(), "version", feed.getVersion());
    }

    @Override
    public void onError(ApiException error) {
        say("feed_error", "status", error.status, "code", error.code);
    }

    @Override
    public void onOlderFailed(ApiException error) {
        onError(error);
    }

    @Override
    public void onChange(NoticesChange change) {
        List<Object> rows = new ArrayList<>();
        for (Notice notice : change.items) {
            List<Object> users = new ArrayList<>();
            for (Long user : notice.users) {
                users.add(user.toString());
            }
            rows.add(Arrays.<Object>asList(notice.id, notice.what, Long.toString(notice.user), notice.count, users));
        }
        say("notices", "unread", change.unread, "items", rows, "first", change.first);
    }

    private void obey(Map<String, Object> command) {
        switch ((String) command.get("do")) {
            case "connect":
                client.connect();
                break;
            case "reconnect":
                client.reconnect();
                break;
            case "discover":
                client.discover(null, null);
                break;
            case "more":
                client.more();
                break;
            case "move":
                client.move(number(command, "lat"), number(command, "lng"));
                break;
            case "renew":
                client.renew((String) command.get("token"));
                break;
            case "token":
                tokens.add((String) command.get("token"));
                break;
            case "watch_feed":
                feed = client.watchFeed(new StarlingApi(http, (String) options.get("api"), (String) options.get("token")), this);
                break;
            case "older":
                feed.older();
                break;
            case "unwatch_feed":
                feed.close();
                break;
            case "watch_notices":
                notices = client.watchNotices(this);
                break;
            case "unwatch_notices":
                notices.close();
                break;
            default:
                throw new IllegalArgumentException("no such command: " + command);
        }
    }

    private void run() throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, Object> command = Json.readObject(line);
            if ("close".equals(command.get("do"))) {
                break;
            }
            obey(command);
        }
        if (feed != null) {
            feed.close();
        }
        client.close();
        // The end of the connection is said before the process ends.
        http.dispatcher().executorService().shutdown();
        http.dispatcher().executorService().awaitTermination(5, TimeUnit.SECONDS);
    }

    public static void main(String[] arguments) throws Exception {
        new ProtocolDriver(Json.readObject(arguments[0])).run();
    }
}
