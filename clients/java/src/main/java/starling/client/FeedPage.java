package starling.client;

import java.util.Map;

/** A page of my home timeline. */
public final class FeedPage extends Page<Post> {
    /** False: posts may be missing; the same question has them a moment later. */
    public final boolean complete;
    /** To be compared, and nothing else; empty on later pages, and on those of some time. */
    public final String version;

    FeedPage(Map<String, Object> answer) {
        super(Post.readAll(answer.get("items")), answer.get("next"));
        complete = Boolean.TRUE.equals(answer.get("complete"));
        Object said = answer.get("version");
        version = said == null ? "" : said.toString();
    }
}
