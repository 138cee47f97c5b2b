package starling.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A comment or a reply. */
public class Comment extends Shown {
    public enum State {
        VISIBLE,
        /** It waits for a moderator. */
        HELD,
        /** A moderator took it away. */
        HIDDEN,
        DELETED
    }

    /** A whole number in decimal; unique over all subjects. */
    public final String id;
    /** The author. */
    public final long user;
    /** Null: no profile yet. */
    public final String name;
    /** Null: none. */
    public final String avatarUrl;
    /** Null: the comment is not visible, or its text could not be read in time. */
    public final String text;
    /** Ms since the epoch. */
    public final long time;
    /** Of its text, from 1; each edit adds one. */
    public final long version;
    /** When its text was last edited, ms since the epoch; null: never. */
    public final Long edited;
    /** Its number under the subject; of a reply, under its root. From 1 on, without gaps. */
    public final long floor;
    /** Null: it is a root. */
    public final String root;
    /** The comment that a reply answers; null: it is a root. */
    public final String replyTo;
    public final long likes;
    /** Visible replies under a root; of a reply, those that answer it. */
    public final long replyCount;
    /** The first replies of a root on a page; else empty. */
    public final List<Comment> replies;
    public final State state;
    /** Whether I like it; null: not asked for, or not known in time. */
    public final Boolean liked;

    Comment(Map<String, Object> item) {
        id = (String) item.get("id");
        user = (Long) item.get("user");
        name = Json.asText(item.get("name"));
        avatarUrl = Json.asText(item.get("avatar_url"));
        text = item.get("text") instanceof String ? (String) item.get("text") : null;
        time = Json.asLong(item.get("time"), 0);
        version = Json.asLong(item.get("version"), 1);
        edited = item.get("edited") instanceof Long ? (Long) item.get("edited") : null;
        floor = Json.asLong(item.get("floor"), 0);
        root = Json.asText(item.get("root"));
        replyTo = Json.asText(item.get("reply_to"));
        likes = Json.asLong(item.get("likes"), 0);
        replyCount = Json.asLong(item.get("reply_count"), 0);
        replies = Collections.unmodifiableList(readAll(item.get("replies")));
        state = stateOf(item.get("state"));
        liked = item.get("liked") instanceof Boolean ? (Boolean) item.get("liked") : null;
    }

    /** Returns null if it is unusable. */
    static Comment read(Object value) {
        Map<String, Object> item = Json.asObject(value);
        return isOne(item) ? new Comment(item) : null;
    }

    static boolean isOne(Map<String, Object> item) {
        return Profile.isOne(item) && Post.isId(item.get("id")) && stateOf(item.get("state")) != null;
    }

    private static State stateOf(Object word) {
        for (State state : State.values()) {
            if (state.name().toLowerCase(Locale.ROOT).equals(word)) {
                return state;
            }
        }
        return null;
    }

    /** Leaves out those that are unusable. */
    static List<Comment> readAll(Object items) {
        List<Comment> comments = new ArrayList<>();
        for (Object item : Json.asList(items)) {
            Comment comment = read(item);
            if (comment != null) {
                comments.add(comment);
            }
        }
        return comments;
    }
}
