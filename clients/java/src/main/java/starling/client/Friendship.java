package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Somebody of my friends, requests, invitations or blocks. Answers to a change of mine have no name. */
public final class Friendship extends Profile {
    /** Null: none, or not known just now. */
    public final String handle;
    /** friends, requested (I have asked), invited (I was asked, and addFriend accepts), blocked, or none any more. */
    public final String state;
    /** When we became friends, or I was invited, or blocked the other one, ms since the epoch; null: not kept. */
    public final Long since;

    /** I let them see only about where I am. Answers to a change of mine do not tell it. */
    public final boolean rounded;

    private Friendship(Map<String, Object> item) {
        super(item);
        long time = Json.asLong(item.get("since"), 0);
        handle = Json.asText(item.get("handle"));
        state = Json.asText(item.get("state"));
        since = time > 0 ? time : null;
        rounded = Boolean.TRUE.equals(item.get("rounded"));
    }

    /** Null: it is none. */
    static Friendship read(Map<String, Object> item) {
        return isOne(item) && Json.asText(item.get("state")) != null ? new Friendship(item) : null;
    }

    /** Leaves out those that are unusable. */
    static List<Friendship> readAll(Object items) {
        List<Friendship> friendships = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Friendship one = read(Json.asObject(value));
            if (one != null) {
                friendships.add(one);
            }
        }
        return friendships;
    }
}
