package starling.client;

import java.util.Map;

/** What somebody is called, and looks like. */
public class Profile extends Shown {
    public final long user;
    /** Null: no profile yet. */
    public final String name;
    /** Null: none. */
    public final String avatarUrl;
    /** Null: none. Lists do not tell it. */
    public final String bio;
    /** Null: none. Lists do not tell it. */
    public final String url;

    Profile(Map<String, Object> item) {
        user = Json.asLong(item.get("user"), 0);
        name = Json.asText(item.get("name"));
        avatarUrl = Json.asText(item.get("avatar_url"));
        bio = Json.asText(item.get("bio"));
        url = Json.asText(item.get("url"));
    }

    /** Whether an item is of a user. */
    static boolean isOne(Map<String, Object> item) {
        return item != null && item.get("user") instanceof Long;
    }
}
