package starling.client;

import java.util.Collections;
import java.util.List;

/** A page of a list. */
public class Page<T> extends Shown {
    /** Not to be changed. */
    public final List<T> items;
    /** For `after`; null: this was the last page. */
    public final String next;
    /** Asks for the page after this one; null: this one was not asked for over HTTP. */
    Loop.Question<Page<T>> more;

    Page(List<T> items, Object next) {
        this.items = Collections.unmodifiableList(items);
        this.next = next == null ? null : next.toString();
    }
}
