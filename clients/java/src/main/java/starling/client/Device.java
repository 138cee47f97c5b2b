package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An open session of mine. */
public final class Device extends Shown {
    public final String id;
    /** Null: it has said no name. */
    public final String device;
    /** Ms since the epoch. */
    public final long since;
    public final boolean current;

    Device(Map<String, Object> answer) {
        id = String.valueOf(answer.get("id"));
        device = Json.asText(answer.get("device"));
        since = Json.asLong(answer.get("since"), 0);
        current = Boolean.TRUE.equals(answer.get("current"));
    }

    static List<Device> readAll(Object items) {
        List<Device> all = new ArrayList<>();
        for (Object item : Json.asList(items)) {
            all.add(new Device(Json.asObject(item)));
        }
        return all;
    }
}
