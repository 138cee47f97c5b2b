package starling.client;

import java.util.Collections;
import java.util.List;

/** A comment with its neighbours. */
public final class CommentAround extends Shown {
    public final Comment item;
    /** Null: the comment is a root. */
    public final Comment root;
    /** Roots around a root, replies of the same root around a reply. */
    public final List<Comment> around;

    CommentAround(Comment item, Comment root, List<Comment> around) {
        this.item = item;
        this.root = root;
        this.around = Collections.unmodifiableList(around);
    }
}
