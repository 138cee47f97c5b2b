package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** That I arrived at a place of mine, or left it. */
public final class PlaceEvent extends Shown {
    /** Rises. */
    public final long number;
    /** The place's id. */
    public final String place;
    /** Of the place then. */
    public final String name;
    /** arrived or left. */
    public final String what;
    /** Of the report that said so, ms since the epoch. */
    public final long time;

    private PlaceEvent(Map<String, Object> item) {
        number = Json.asLong(item.get("number"), 0);
        place = Json.asText(item.get("place"));
        name = Json.asText(item.get("name"));
        what = Json.asText(item.get("what"));
        time = Json.asLong(item.get("time"), 0);
    }

    /** Leaves out those that are unusable. */
    static List<PlaceEvent> readAll(Object items) {
        List<PlaceEvent> events = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (item != null && item.get("number") instanceof Long && Json.asText(item.get("place")) != null && Json.asText(item.get("what")) != null) {
                events.add(new PlaceEvent(item));
            }
        }
        return events;
    }
}
