package starling.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A post. */
public final class Post {
    /** A whole number in decimal; later posts have higher ones. */
    public final String id;
    /** The author. */
    public final long user;
    /** Null: no profile yet. */
    public final String name;
    /** Null: none. */
    public final String avatarUrl;
    /** Null: unavailable. */
    public final String text;
    public final List<String> media;
    /** Ms since the epoch. */
    public final long time;
    /** Of its text, from 1; each edit adds one. */
    public final long version;
    /** When its text was last edited, ms since the epoch; null: never. */
    public final Long edited;
    /** held: nobody else sees it before a moderator approves it; hidden: by a moderator, who reads it; null: it is shown. */
    public final String state;
    /** The post is there, but what it says cannot be read just now. */
    public final boolean unavailable;
    /** How many comments it has, a few seconds ago at most; null: not known. */
    public final Long comments;
    /** How many like it, a few seconds ago at most; null: not known. */
    public final Long likes;
    /** Whether I like it; null: not known. */
    public final Boolean liked;

    private Post(String id, long user, Map<String, Object> item) {
        this.id = id;
        this.user = user;
        name = Json.asText(item.get("name"));
        avatarUrl = Json.asText(item.get("avatar_url"));
        text = item.get("text") instanceof String ? (String) item.get("text") : null;
        media = Collections.unmodifiableList(Json.asTexts(item.get("media")));
        time = Json.asLong(item.get("time"), 0);
        version = Json.asLong(item.get("version"), 1);
        edited = item.get("edited") instanceof Long ? (Long) item.get("edited") : null;
        state = Json.asText(item.get("state"));
        unavailable = text == null;
        comments = item.get("comments") instanceof Long ? (Long) item.get("comments") : null;
        likes = item.get("likes") instanceof Long ? (Long) item.get("likes") : null;
        liked = item.get("liked") instanceof Boolean ? (Boolean) item.get("liked") : null;
    }

    /** Returns null if it is unusable. */
    static Post read(Object value) {
        Map<String, Object> item = Json.asObject(value);
        if (item == null || !(item.get("user") instanceof Long) || !isId(item.get("id"))) {
            return null;
        }
        return new Post((String) item.get("id"), (Long) item.get("user"), item);
    }

    /** Leaves out those that are unusable. */
    static List<Post> readAll(Object items) {
        List<Post> posts = new ArrayList<>();
        for (Object item : Json.asList(items)) {
            Post post = read(item);
            if (post != null) {
                posts.add(post);
            }
        }
        return posts;
    }

    static boolean isId(Object value) {
        return value instanceof String && ((String) value).matches("[1-9][0-9]{0,18}");
    }

    @Override
    public String toString() {
        return id + " of " + user + (text == null ? "" : ": " + text);
    }
}
