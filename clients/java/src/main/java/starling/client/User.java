package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Somebody's profile. Handle and counts are null, too, while the process that has them does not answer. */
public final class User extends Shown {
    public final long user;
    /** Null: no profile yet. */
    public final String name;
    /** Null: none. */
    public final String avatarUrl;
    /** Null: none. Lists do not tell it. */
    public final String bio;
    /** Null: none. Lists do not tell it. */
    public final String url;
    /** Null: the user has none. */
    public final String handle;
    public final Long followers;
    public final Long following;
    public final Long posts;
    /** How I follow the user: following or requested; null: neither. Lists do not tell it. */
    public final String follow;

    User(Map<String, Object> answer) {
        user = Json.asLong(answer.get("user"), 0);
        name = Json.asText(answer.get("name"));
        avatarUrl = Json.asText(answer.get("avatar_url"));
        bio = Json.asText(answer.get("bio"));
        url = Json.asText(answer.get("url"));
        handle = Json.asText(answer.get("handle"));
        followers = count(answer.get("followers"));
        following = count(answer.get("following"));
        posts = count(answer.get("posts"));
        follow = Json.asText(answer.get("follow"));
    }

    /** Leaves out those that are unusable. */
    static List<User> readAll(Object items) {
        List<User> users = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (Profile.isOne(item)) {
                users.add(new User(item));
            }
        }
        return users;
    }

    private static Long count(Object value) {
        return value instanceof Long ? (Long) value : null;
    }
}
