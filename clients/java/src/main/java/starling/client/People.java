package starling.client;

import java.util.List;

/** A page of user ids. */
public final class People extends Page<Long> {
    /** Of all pages. */
    public final long total;

    People(List<Long> items, Object next, long total) {
        super(items, next);
        this.total = total;
    }
}
