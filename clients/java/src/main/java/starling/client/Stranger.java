package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Somebody around who shares with everybody, as I do. */
public final class Stranger extends Shown {
    public final long user;
    /** Null: not known. */
    public final String name;
    /** Null: none. */
    public final String avatarUrl;
    /** The centre of the cell that the user is in. */
    public final double lat;
    public final double lng;
    /** Metres from my last report to that centre. */
    public final double distance;
    /** Of the user's last report, rounded down to five minutes; ms since the epoch. */
    public final long time;

    private Stranger(Map<String, Object> item) {
        user = (Long) item.get("user");
        name = Json.asText(item.get("name"));
        avatarUrl = Json.asText(item.get("avatar_url"));
        lat = Json.asDouble(item.get("lat"), 0);
        lng = Json.asDouble(item.get("lng"), 0);
        distance = Json.asDouble(item.get("distance_m"), 0);
        time = Json.asLong(item.get("time"), 0);
    }

    /** Leaves out those that are unusable. */
    static List<Stranger> readAll(Object items) {
        List<Stranger> strangers = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (item != null && item.get("user") instanceof Long && item.get("lat") instanceof Number && item.get("lng") instanceof Number) {
                strangers.add(new Stranger(item));
            }
        }
        return strangers;
    }
}
