package starling.client;

import java.util.Map;

/** A link that was just made. */
public final class NewLink extends Shown {
    public final String id;
    /** Told this once; relative to the API's. */
    public final String url;

    private NewLink(String id, String url) {
        this.id = id;
        this.url = url;
    }

    /** Null: it is none. */
    static NewLink read(Map<String, Object> answer) {
        String id = Json.asText(answer.get("id"));
        String url = Json.asText(answer.get("url"));
        return id == null || url == null ? null : new NewLink(id, url);
    }
}
