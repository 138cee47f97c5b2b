package starling.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * My nearby friends, merged from pages (nearest first, on request) and updates (about everybody near, asked for or not). No socket and
 * no clock in here: frames and times (ms by the server's clock) are handed in.
 *
 * <pre>
 * pages    |--- page 1 ---|--- page 2 ---|   cursor -> the server's next page
 * updates        u   u        u     u           u        u   (users of pages not yet asked for turn up, too)
 * shown    |----------- wanted ----------|   the nearest of all known; pages are asked for until they cover it
 * </pre>
 */
final class NearbyList {
    static final int PAGE_SIZE = 20;
    private static final double RADIUS_SLACK_M = 0.01; // the server decided with the position that I last sent; this much is rounding

    /** The server's last word on a friend. */
    private static final class Entry {
        long user;
        String name;
        String avatarUrl;
        double lat;
        double lng;
        long time;
        double reported; // the distance that the server gave
        double distance;
        boolean stale;
        boolean rounded;
        Double accuracy;
        Details details;
        boolean paged; // came in a page of this connection

        Friend friend() {
            return new Friend(user, name, avatarUrl, lat, lng, distance, time, stale, rounded, accuracy, details);
        }
    }

    /** Friends who came to be known, and friends who are not near any more. */
    static final class Difference {
        final List<Friend> came = new ArrayList<>();
        final List<Long> gone = new ArrayList<>();
    }

    private final Map<Long, Entry> entries = new HashMap<>();
    private boolean placed;
    private double myLat;
    private double myLng;
    private double radiusM = Double.POSITIVE_INFINITY;
    private double inactiveMs = Double.POSITIVE_INFINITY;
    private double staleMs = Double.POSITIVE_INFINITY;
    private Object cursor;
    private Object askedCursor;
    private long total;
    private int wanted = PAGE_SIZE;
    private int fill;
    private boolean asking; // a page was asked for and has not come
    private boolean stuck;
    private List<Friend> sorted;

    /** As the server's welcome says. */
    void configure(double newRadiusM, double newInactiveMs, double newStaleMs) {
        radiusM = newRadiusM;
        inactiveMs = newInactiveMs;
        staleMs = newStaleMs;
        sorted = null;
    }

    void clear() {
        entries.clear();
        cursor = null;
        askedCursor = null;
        total = 0;
        wanted = PAGE_SIZE;
        fill = 0;
        asking = false;
        stuck = false;
        sorted = null;
    }

    /** I am here now: every distance changes. */
    void place(double lat, double lng) {
        placed = true;
        myLat = lat;
        myLng = lng;
        for (Entry entry : entries.values()) {
            measure(entry);
        }
        sorted = null;
    }

    // what the server says

    /** The first page of a new connection: the truth, whatever was known before. As much as was known is asked for again. */
    void restart(Map<String, Object> frame, double now) {
        fill = Math.max(fill, entries.size());
        entries.clear();
        asking = false;
        stuck = false;
        cursor = frame.get("next");
        merge(frame.get("items"), true, now);
        total = Json.asLong(frame.get("total"), entries.size());
    }

    /** A further page, or a first page that nobody asked for (after a hello on the open socket, or sharing again). */
    void page(Map<String, Object> frame, double now) {
        merge(frame.get("items"), true, now);
        total = Json.asLong(frame.get("total"), total);
        Object next = frame.get("next");
        if (!asking) {
            if (isComplete() && total > entries.size()) {
                cursor = next;
            }
            return;
        }
        // A server that goes round in circles must not make us ask for ever.
        boolean circle = next == null || next.equals(askedCursor) || Json.asList(frame.get("items")).isEmpty();
        cursor = circle ? null : next;
        asking = false;
    }

    Difference update(Map<String, Object> frame, double now) {
        Difference difference = new Difference();
        Set<Long> came = merge(frame.get("near"), false, now);
        for (Object user : Json.asList(frame.get("gone"))) {
            total = Math.max(0, total - 1);
            if (user instanceof Long && entries.remove(user) != null) {
                difference.gone.add((Long) user);
            }
        }
        sorted = null;
        if (!came.isEmpty()) {
            for (Friend friend : known()) {
                if (came.contains(friend.user)) {
                    difference.came.add(friend);
                }
            }
        }
        return difference;
    }

    // time

    /**
     * Forgets whoever has been silent for too long (the server says so, too, but not while the connection is down), and adds them to
     * `gone`. Returns whether somebody has become stale.
     */
    boolean expire(double now, List<Long> gone) {
        boolean aged = false;
        for (Iterator<Entry> each = entries.values().iterator(); each.hasNext(); ) {
            Entry entry = each.next();
            if (now - entry.time >= inactiveMs) {
                gone.add(entry.user);
                each.remove();
            } else if (!entry.stale && now - entry.time >= staleMs) {
                entry.stale = true;
                aged = true;
            }
        }
        total = Math.max(0, total - gone.size());
        sorted = null;
        return aged;
    }

    /** The server's time at which somebody becomes stale or is forgotten next; infinite: never. */
    double nextExpiry() {
        double next = Double.POSITIVE_INFINITY;
        for (Entry entry : entries.values()) {
            next = Math.min(next, entry.time + (entry.stale ? inactiveMs : Math.min(staleMs, inactiveMs)));
        }
        return next;
    }

    // pages

    /** Twenty more on the screen. */
    void more() {
        if (hasMore()) {
            wanted += PAGE_SIZE;
        }
        stuck = false;
    }

    /**
     * Returns the cursor to ask with, if pages do not cover what is wanted (or everything); null: there is nothing to ask for. Asking is
     * noted: the next page is its answer.
     */
    Object nextRequest(boolean everything) {
        if (asking || stuck) {
            return null;
        }
        int paged = 0;
        for (Entry entry : entries.values()) {
            paged += entry.paged ? 1 : 0;
        }
        if (isComplete() || paged >= fill) {
            fill = 0;
        }
        if (isComplete() || (!everything && paged >= Math.max(wanted, fill))) {
            return null;
        }
        asking = true;
        askedCursor = cursor;
        return cursor;
    }

    /** The page that was asked for does not come: not again until somebody wants more. */
    void giveUpRequest() {
        asking = false;
        stuck = true;
    }

    /** Questions to the old connection are lost; the friends that are known stay until the new one's first page. */
    void disconnected() {
        asking = false;
    }

    boolean isAsking() {
        return asking;
    }

    // what is shown

    /** Every page has come: whoever is near is known. */
    boolean isComplete() {
        return cursor == null;
    }

    long total() {
        int known = known().size();
        return isComplete() ? known : Math.max(total, known);
    }

    boolean hasMore() {
        return !isComplete() || known().size() > wanted;
    }

    List<Friend> list() {
        return known().subList(0, Math.min(wanted, known().size()));
    }

    /** Everybody known to be near, nearest first; not to be changed, and never changed later. */
    List<Friend> known() {
        // Friends whom a move of mine takes outside are hidden, not forgotten: the server, which knows less often where I am, may never say
        // anything about them if I turn back.
        if (sorted == null) {
            List<Friend> near = new ArrayList<>();
            for (Entry entry : entries.values()) {
                if (entry.distance <= radiusM + RADIUS_SLACK_M) {
                    near.add(entry.friend());
                }
            }
            Collections.sort(near, (a, b) -> a.distance != b.distance ? Double.compare(a.distance, b.distance) : Long.compare(a.user, b.user));
            sorted = Collections.unmodifiableList(near);
        }
        return sorted;
    }

    /** Returns the users not known before. */
    private Set<Long> merge(Object items, boolean paged, double now) {
        Set<Long> came = new HashSet<>();
        for (Object item : Json.asList(items)) {
            Entry entry = readItem(Json.asObject(item));
            if (entry == null) {
                continue;
            }
            Entry before = entries.get(entry.user);
            if (before == null) {
                came.add(entry.user);
            }
            entry.paged = paged || (before != null && before.paged);
            entry.stale = now - entry.time >= staleMs;
            measure(entry);
            entries.put(entry.user, entry);
        }
        sorted = null;
        return came;
    }

    private void measure(Entry entry) {
        entry.distance = placed ? Geo.distance(myLat, myLng, entry.lat, entry.lng) : entry.reported;
    }

    /** Returns null if it is unusable. */
    private static Entry readItem(Map<String, Object> item) {
        if (item == null || !(item.get("user") instanceof Long) || !(item.get("time") instanceof Number)) {
            return null;
        }
        Entry entry = new Entry();
        entry.user = (Long) item.get("user");
        entry.lat = Geo.round(Json.asDouble(item.get("lat"), Double.NaN));
        entry.lng = Geo.round(Json.asDouble(item.get("lng"), Double.NaN));
        if (!Geo.isPosition(entry.lat, entry.lng)) {
            return null;
        }
        entry.time = Json.asLong(item.get("time"), 0);
        entry.name = Json.asText(item.get("name"));
        entry.avatarUrl = Json.asText(item.get("avatar_url"));
        entry.reported = Json.asDouble(item.get("distance_m"), 0);
        entry.rounded = Boolean.TRUE.equals(item.get("rounded"));
        entry.accuracy = Details.number(item, "accuracy");
        entry.details = Details.read(item);
        return entry;
    }
}
