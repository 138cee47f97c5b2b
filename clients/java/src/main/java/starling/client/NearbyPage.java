package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A page of the friends near me, nearest first, as a socket would list them. */
public final class NearbyPage extends Page<NearbyPage.Item> {
    /** A friend who is near. */
    public static final class Item extends Profile {
        public final double lat;
        public final double lng;
        /** Metres from my last report. */
        public final double distance;
        /** Of the friend's last report, ms since the epoch. */
        public final long time;
        /** The friend lets me see only about where they are: the place is the centre of a cell. */
        public final boolean rounded;
        /** Metres; null: not known, or the friend does not share it. */
        public final Double accuracy;
        /** What the friend's phone says, of friends who share it. */
        public final Details details;

        private Item(Map<String, Object> item) {
            super(item);
            lat = Json.asDouble(item.get("lat"), 0);
            lng = Json.asDouble(item.get("lng"), 0);
            distance = Json.asDouble(item.get("distance_m"), 0);
            time = Json.asLong(item.get("time"), 0);
            rounded = Boolean.TRUE.equals(item.get("rounded"));
            accuracy = Details.number(item, "accuracy");
            details = Details.read(item);
        }
    }

    /** Of my report that the list is about; null: there is none that counts. */
    public final Long time;

    NearbyPage(Map<String, Object> answer) {
        super(readAll(answer.get("items")), answer.get("next"));
        time = answer.get("time") instanceof Long ? (Long) answer.get("time") : null;
    }

    private static List<Item> readAll(Object items) {
        List<Item> near = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (Profile.isOne(item) && item.get("lat") instanceof Number && item.get("lng") instanceof Number) {
                near.add(new Item(item));
            }
        }
        return near;
    }
}
