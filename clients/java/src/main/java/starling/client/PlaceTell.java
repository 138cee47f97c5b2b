package starling.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/** Who is told of arrivals at a place and departures. */
public final class PlaceTell extends Shown {
    /** Only I. */
    public static final PlaceTell ME = new PlaceTell("me", Collections.<Long>emptyList());
    /** All my friends. */
    public static final PlaceTell FRIENDS = new PlaceTell("friends", Collections.<Long>emptyList());

    /** me, friends or users. */
    public final String who;
    /** These friends, 50 at most; none where all are told, or only I. */
    public final List<Long> users;

    private PlaceTell(String who, List<Long> users) {
        this.who = who;
        this.users = Collections.unmodifiableList(users);
    }

    public static PlaceTell users(Collection<Long> users) {
        return new PlaceTell("users", new ArrayList<>(users));
    }

    public static PlaceTell users(Long... users) {
        return users(Arrays.asList(users));
    }

    static PlaceTell read(Object value) {
        if (value instanceof String) {
            return value.equals(ME.who) ? ME : FRIENDS;
        }
        List<Long> users = new ArrayList<>();
        for (Object user : Json.asList(value)) {
            users.add(Json.asLong(user, 0));
        }
        return users(users);
    }

    Object write() {
        return this == ME || this == FRIENDS ? who : users;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PlaceTell && who.equals(((PlaceTell) other).who) && users.equals(((PlaceTell) other).users);
    }

    @Override
    public int hashCode() {
        return Objects.hash(who, users);
    }
}
