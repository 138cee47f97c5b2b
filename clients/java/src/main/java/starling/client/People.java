package starling.client;

import java.util.List;

/** A page of users, of whom profile and handle are told. */
public final class People extends Page<User> {
    /** Of all pages. */
    public final long total;

    People(List<User> items, Object next, long total) {
        super(items, next);
        this.total = total;
    }
}
