package starling.client;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A page of the roots under a subject, with their first replies. */
public final class CommentPage extends Page<Comment> {
    /** Visible comments and replies of the subject. */
    public final long total;
    /** Users who like the subject itself. */
    public final long likes;
    /** Of comments, states, likes, pins and settings; never falls. For {@link LiveThread#read}. */
    public final long version;
    /** Nobody can write any more. */
    public final boolean closed;
    /** The user who may pin and delete; null: nobody has registered the subject. */
    public final Long owner;
    /** The newest pin first, at most 10. */
    public final List<Comment> pinned;
    /** For the next question of the same page; null: something was missing, so it is not to be kept. */
    public final String etag;

    CommentPage(Map<String, Object> answer, String etag) {
        super(Comment.readAll(answer.get("items")), answer.get("next"));
        total = Json.asLong(answer.get("total"), 0);
        likes = Json.asLong(answer.get("likes"), 0);
        version = Json.asLong(answer.get("version"), 0);
        closed = Boolean.TRUE.equals(answer.get("closed"));
        owner = answer.get("owner") instanceof Long ? (Long) answer.get("owner") : null;
        pinned = Collections.unmodifiableList(Comment.readAll(answer.get("pinned")));
        this.etag = etag;
    }
}
