package starling.client;

import java.util.Map;

/** A page of my notices. */
public final class NoticePage extends Page<Notice> {
    /** How many of the whole list are unread: the first ones. */
    public final long unread;

    NoticePage(Map<String, Object> answer) {
        super(Notice.readAll(answer.get("items")), answer.get("next"));
        unread = Json.asLong(answer.get("unread"), 0);
    }
}
