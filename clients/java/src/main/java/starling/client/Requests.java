package starling.client;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import okhttp3.HttpUrl;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.ResponseBody;

/** Requests of the HTTP API and their answers; repeats what may succeed later. Any thread may call, and waits. */
final class Requests {
    private static final long TIMEOUT_S = 15;
    private static final MediaType JSON = MediaType.get("application/json");

    /** An answer. */
    static final class Answer {
        final int status;
        /** Empty if there is none. */
        final Map<String, Object> json;
        /** Null: none. */
        final String etag;
        /** Null: none. */
        final Long retryAfterMs;

        private Answer(int status, Map<String, Object> json, String etag, Long retryAfterMs) {
            this.status = status;
            this.json = json;
            this.etag = etag;
            this.retryAfterMs = retryAfterMs;
        }
    }

    private final OkHttpClient http;
    private final HttpUrl base;
    private final long patienceMs;
    private final Random random = new Random();
    private volatile Tokens tokens;

    /** Throws IllegalArgumentException if the address is none. */
    Requests(OkHttpClient http, String url, Tokens tokens, long patienceMs) {
        this.http = http.newBuilder().callTimeout(TIMEOUT_S, TimeUnit.SECONDS).build();
        this.base = HttpUrl.get(url);
        this.tokens = tokens;
        this.patienceMs = patienceMs;
    }

    void renew(Tokens newer) {
        tokens = newer;
    }

    /** Begins the address of a request: the segments as they are, which are escaped. */
    HttpUrl.Builder path(String... segments) {
        HttpUrl.Builder url = base.newBuilder();
        if (base.pathSegments().get(base.pathSize() - 1).isEmpty()) {
            url.removePathSegment(base.pathSize() - 1); // the slash at the end of the base
        }
        return with(url.addPathSegment("v1"), segments);
    }

    /**
     * Adds segments. Throws IllegalArgumentException if one would lead elsewhere than it says: an id that an app was given, such as "..",
     * must not choose the request.
     */
    static HttpUrl.Builder with(HttpUrl.Builder url, String... segments) {
        for (String segment : segments) {
            if (segment.isEmpty() || segment.indexOf('/') >= 0 || segment.equals(".") || segment.equals("..")) {
                throw new IllegalArgumentException("not an id: " + segment);
            }
            url.addPathSegment(segment);
        }
        return url;
    }

    /** Adds a parameter unless it is null. */
    static HttpUrl.Builder with(HttpUrl.Builder url, String name, Object value) {
        return value == null ? url : url.addQueryParameter(name, value.toString());
    }

    /** etag: answered 304 if it is still that; null: none. body: null: none. */
    Answer exchange(String method, HttpUrl url, Map<String, ?> body, String etag) throws ApiException {
        return exchange(new Request.Builder().url(url).header("Authorization", "Bearer " + token()), method, body, etag);
    }

    /** A question to which no account is needed. */
    Answer anonymously(HttpUrl url) throws ApiException {
        return exchange(new Request.Builder().url(url), "GET", null, null);
    }

    private Answer exchange(Request.Builder request, String method, Map<String, ?> body, String etag) throws ApiException {
        if (etag != null) {
            request.header("If-None-Match", etag);
        }
        if (body != null) {
            request.method(method, RequestBody.create(Json.write(body).getBytes(StandardCharsets.UTF_8), JSON));
        } else {
            request.method(method, needsBody(method) ? RequestBody.create(new byte[0], null) : null);
        }
        try (Response response = http.newCall(request.build()).execute()) {
            return read(response);
        } catch (ApiException refused) {
            throw refused;
        } catch (IOException failed) {
            if (failed instanceof InterruptedIOException && Thread.currentThread().isInterrupted()) {
                throw interrupted(failed);
            }
            throw ApiException.unreachable(base, failed);
        }
    }

    private static boolean needsBody(String method) {
        return method.equals("PUT") || method.equals("POST") || method.equals("PATCH");
    }

    private String token() throws ApiException {
        try {
            return tokens.get();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw interrupted(stopped);
        } catch (Exception thrown) { // the application's function may throw what it likes
            throw ApiException.noAnswer("no_token", thrown.toString(), thrown);
        }
    }

    private static ApiException interrupted(Exception cause) {
        return ApiException.noAnswer("interrupted", "The thread was interrupted.", cause);
    }

    private static Answer read(Response response) throws IOException {
        ResponseBody body = response.body();
        String text = body == null ? "" : body.string();
        Map<String, Object> json = parse(text);
        int status = response.code();
        Long retryAfterMs = secondsToMs(response.header("Retry-After"));
        if (status == 304 || (response.isSuccessful() && (json != null || text.isEmpty()))) {
            return new Answer(status, json == null ? Collections.<String, Object>emptyMap() : json, response.header("ETag"), retryAfterMs);
        }
        if (response.isSuccessful()) {
            throw badAnswer();
        }
        // RFC 9457 where the server says why, the bare status where something between us does.
        Map<String, Object> why = json == null ? Collections.<String, Object>emptyMap() : json;
        String code = Json.asText(why.get("code"));
        String detail = Json.asText(why.get("detail"));
        String title = Json.asText(why.get("title"));
        String message = detail != null ? detail : title != null ? title : "The server answered " + status + ".";
        ApiException refused = ApiException.of(status, code == null ? "unknown" : code, message, retryAfterMs);
        refused.problem = Collections.unmodifiableMap(why);
        throw refused;
    }

    /** Returns null if it is no JSON object. */
    private static Map<String, Object> parse(String text) {
        try {
            return Json.readObject(text);
        } catch (IOException notJson) {
            return null;
        }
    }

    private static Long secondsToMs(String seconds) {
        return seconds != null && seconds.matches("[0-9]{1,9}") ? Long.parseLong(seconds) * 1000 : null;
    }

    static ApiException badAnswer() {
        return new ApiException(0, "bad_answer", "The server sent what cannot be read.", null);
    }

    /** Repeats with growing pauses while the server is away or has not decided; throws the last error. */
    Map<String, Object> decided(String method, HttpUrl url, Map<String, ?> body) throws ApiException {
        return repeated(method, url, body, true);
    }

    /** Repeats while the server is away, and, if 202 does not count as an answer, until it has decided. */
    Map<String, Object> repeated(String method, HttpUrl url, Map<String, ?> body, boolean untilDecided) throws ApiException {
        long end = Loop.nowMs() + patienceMs;
        for (int failures = 0; ; failures++) {
            ApiException error;
            try {
                Answer answer = exchange(method, url, body, null);
                if (answer.status != 202 || !untilDecided) {
                    return answer.json;
                }
                error = ApiException.of(202, "pending", "The server has not decided yet.", answer.retryAfterMs);
            } catch (ApiException thrown) {
                error = thrown;
            }
            long pause = Backoff.pause(failures, random, 0);
            if (error.retryAfterMs != null) {
                pause = Math.max(pause, error.retryAfterMs);
            }
            boolean ours = error.code.equals("no_token") || error.code.equals("interrupted");
            if (ours || !error.isPassing() || Loop.nowMs() + pause >= end) {
                throw error;
            }
            try {
                Thread.sleep(pause);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                throw interrupted(stopped);
            }
        }
    }
}
