package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A place of mine. Each time that I arrive there or leave it, those in `tell` get a notice of that: friends, while we both share. */
public final class NamedPlace extends Shown {
    public final String id;
    public final String name;
    public final double lat;
    public final double lng;
    public final long radiusM;
    public final PlaceTell tell;

    private NamedPlace(Map<String, Object> item) {
        id = Json.asText(item.get("id"));
        name = Json.asText(item.get("name"));
        lat = Json.asDouble(item.get("lat"), 0);
        lng = Json.asDouble(item.get("lng"), 0);
        radiusM = Json.asLong(item.get("radius_m"), 0);
        tell = PlaceTell.read(item.get("tell"));
    }

    /** Returns null if it is unusable. */
    static NamedPlace read(Object value) {
        Map<String, Object> item = Json.asObject(value);
        boolean good = item != null && Json.asText(item.get("id")) != null && item.get("lat") instanceof Number && item.get("lng") instanceof Number;
        return good ? new NamedPlace(item) : null;
    }

    /** Leaves out those that are unusable. */
    static List<NamedPlace> readAll(Object items) {
        List<NamedPlace> places = new ArrayList<>();
        for (Object item : Json.asList(items)) {
            NamedPlace place = read(item);
            if (place != null) {
                places.add(place);
            }
        }
        return places;
    }
}
