package starling.client;

import java.util.List;

/** A page of my home timeline. */
public final class FeedPage extends Page<Post> {
    /** False: posts may be missing; the same question has them a moment later. */
    public final boolean complete;
    /** To be compared, and nothing else; empty on later pages, and on those of some time. */
    public final String version;

    FeedPage(List<Post> items, Object next, boolean complete, String version) {
        super(items, next);
        this.complete = complete;
        this.version = version;
    }
}
