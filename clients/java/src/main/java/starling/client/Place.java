package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Where I was. */
public final class Place extends Shown {
    public final double lat;
    public final double lng;
    /** ms since the epoch. */
    public final long time;
    /** Metres; null: not known. */
    public final Long accuracy;
    /** When the server took it, ms since the epoch. */
    public final long received;
    public final Details details;

    private Place(Map<String, Object> item) {
        lat = Json.asDouble(item.get("lat"), 0);
        lng = Json.asDouble(item.get("lng"), 0);
        time = Json.asLong(item.get("time"), 0);
        accuracy = item.get("accuracy") instanceof Long ? (Long) item.get("accuracy") : null;
        received = Json.asLong(item.get("received"), 0);
        details = Details.read(item);
    }

    /** Leaves out those that are unusable. */
    static List<Place> readAll(Object items) {
        List<Place> places = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (item != null && item.get("lat") instanceof Number && item.get("lng") instanceof Number) {
                places.add(new Place(item));
            }
        }
        return places;
    }
}
