package starling.client;

/** The page of comments that is asked for. Values that are not set are as the server has them. */
public final class CommentsQuery {
    public enum Sort {
        /** The oldest first. */
        FLOOR,
        NEWEST,
        HEAT
    }

    Sort sort;
    Integer replies;
    String after;
    Integer limit;
    boolean liked;
    String etag;

    public CommentsQuery sort(Sort value) {
        sort = value;
        return this;
    }

    /** How many replies come with each root. */
    public CommentsQuery replies(int value) {
        replies = value;
        return this;
    }

    /** The `next` of the page before. */
    public CommentsQuery after(String value) {
        after = value;
        return this;
    }

    public CommentsQuery limit(int value) {
        limit = value;
        return this;
    }

    /** Says which comments I like. */
    public CommentsQuery liked() {
        liked = true;
        return this;
    }

    /** The ETag of the page that is there already: the answer is null while it is still that. */
    public CommentsQuery etag(String value) {
        etag = value;
        return this;
    }
}
