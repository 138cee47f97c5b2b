package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Somebody follows, mentions or answers me. */
public final class Notice extends Shown {
    /** The same event has the same one. */
    public final String id;
    /** follow, mention or reply. */
    public final String what;
    /** The user who does so. */
    public final long user;
    /** The id of the post that mentions me, or below which the answer is; null: a follow. */
    public final String post;
    /** The id of the comment that mentions or answers me; null: there is none. */
    public final String comment;
    /** Ms since the epoch. */
    public final long time;

    private Notice(Map<String, Object> item) {
        id = Json.asText(item.get("id"));
        what = Json.asText(item.get("what"));
        user = Json.asLong(item.get("user"), 0);
        String subject = Json.asText(item.get("subject"));
        post = subject != null && subject.startsWith("post:") ? subject.substring("post:".length()) : null;
        comment = Json.asText(item.get("comment"));
        time = Json.asLong(item.get("time"), 0);
    }

    /** Returns null if it is unusable. */
    static Notice read(Object value) {
        Map<String, Object> item = Json.asObject(value);
        if (item == null || !(item.get("user") instanceof Long) || Json.asText(item.get("id")) == null || Json.asText(item.get("what")) == null) {
            return null;
        }
        return new Notice(item);
    }

    /** Leaves out those that are unusable. */
    static List<Notice> readAll(Object items) {
        List<Notice> notices = new ArrayList<>();
        for (Object item : Json.asList(items)) {
            Notice notice = read(item);
            if (notice != null) {
                notices.add(notice);
            }
        }
        return notices;
    }
}
