package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A comment of mine, with its subject. */
public final class OwnComment extends Comment {
    /** As post:123. */
    public final String subject;

    private OwnComment(Map<String, Object> item) {
        super(item);
        subject = Json.asText(item.get("subject"));
    }

    /** Leaves out those that are unusable. */
    static List<OwnComment> readOwn(Object items) {
        List<OwnComment> comments = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (isOne(item)) {
                comments.add(new OwnComment(item));
            }
        }
        return comments;
    }
}
