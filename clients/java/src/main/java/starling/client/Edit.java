package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A version of the text of a post or comment. */
public final class Edit extends Shown {
    public final long version;
    public final String text;
    /** When it was written, ms since the epoch. */
    public final long time;
    /** The one who wrote it: the author, or a moderator. */
    public final long user;
    /** Null: no profile yet. */
    public final String name;
    /** Null: none. */
    public final String avatarUrl;

    private Edit(Map<String, Object> item) {
        version = Json.asLong(item.get("version"), 0);
        text = Json.asText(item.get("text"));
        time = Json.asLong(item.get("time"), 0);
        user = Json.asLong(item.get("user"), 0);
        name = Json.asText(item.get("name"));
        avatarUrl = Json.asText(item.get("avatar_url"));
    }

    static List<Edit> readAll(Object items) {
        List<Edit> edits = new ArrayList<>();
        for (Object item : Json.asList(items)) {
            Map<String, Object> one = Json.asObject(item);
            if (one != null) {
                edits.add(new Edit(one));
            }
        }
        return edits;
    }
}
