package starling.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Somebody does something that is about me; many such things of one day that are alike are one. */
public final class Notice extends Shown {
    /** The same event has the same one. */
    public final String id;
    /** follow, request (asks to follow me), accepted (I may follow), mention, reply, like, approach (a friend has come near while I had no session), arrived or left (a friend at a place of the friend's, or I at one of mine). */
    public final String what;
    /** The user who does so; of many, the newest one. */
    public final long user;
    /** The id of the post that mentions me or is liked, or below which the comment is; null: there is none. */
    public final String post;
    /** The id of the comment that mentions or answers me, or is liked; null: there is none. */
    public final String comment;
    /** The name of the place; null: it is about none. */
    public final String place;
    /** Ms since the epoch. */
    public final long time;
    /** How many users do so. */
    public final long count;
    /** The newest of them, three at most. */
    public final List<Long> users;

    private Notice(Map<String, Object> item) {
        id = Json.asText(item.get("id"));
        what = Json.asText(item.get("what"));
        user = Json.asLong(item.get("user"), 0);
        String subject = Json.asText(item.get("subject"));
        post = subject != null && subject.startsWith("post:") ? subject.substring("post:".length()) : null;
        comment = Json.asText(item.get("comment"));
        place = Json.asText(item.get("place"));
        time = Json.asLong(item.get("time"), 0);
        count = Json.asLong(item.get("count"), 1);
        List<Long> newest = new ArrayList<>();
        for (Object one : Json.asList(item.get("users"))) {
            newest.add(Json.asLong(one, 0));
        }
        users = newest.isEmpty() ? Collections.singletonList(user) : Collections.unmodifiableList(newest);
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
