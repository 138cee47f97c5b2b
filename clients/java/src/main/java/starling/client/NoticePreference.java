package starling.client;

import java.util.LinkedHashMap;
import java.util.Map;

/** How I am told of a kind of notices. */
public final class NoticePreference extends Shown {
    /** Open screens are told at once. */
    public final boolean live;
    /** Devices are told. */
    public final boolean push;

    public NoticePreference(boolean live, boolean push) {
        this.live = live;
        this.push = push;
    }

    static Map<String, NoticePreference> readAll(Map<String, Object> answer) {
        Map<String, NoticePreference> preferences = new LinkedHashMap<>();
        for (Map.Entry<String, Object> kind : answer.entrySet()) {
            Map<String, Object> one = Json.asObject(kind.getValue());
            if (one != null) {
                preferences.put(kind.getKey(), new NoticePreference(Boolean.TRUE.equals(one.get("live")), Boolean.TRUE.equals(one.get("push"))));
            }
        }
        return preferences;
    }

    static Map<String, Object> write(Map<String, NoticePreference> preferences) {
        Map<String, Object> body = new LinkedHashMap<>();
        for (Map.Entry<String, NoticePreference> kind : preferences.entrySet()) {
            body.put(kind.getKey(), Json.object("live", kind.getValue().live, "push", kind.getValue().push));
        }
        return body;
    }
}
