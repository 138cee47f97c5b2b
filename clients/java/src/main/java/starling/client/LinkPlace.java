package starling.client;

import java.util.Map;

/** What a link shows. */
public final class LinkPlace extends Shown {
    public final String name;
    /** Null, as lng and time, while nothing is known of where the link's user is. */
    public final Double lat;
    public final Double lng;
    /** ms since the epoch. */
    public final Long time;
    /** When the link ends, ms since the epoch. */
    public final long until;

    private LinkPlace(Map<String, Object> answer) {
        boolean known = answer.get("lat") instanceof Number && answer.get("lng") instanceof Number;
        String told = Json.asText(answer.get("name"));
        name = told == null ? "" : told;
        lat = known ? (Double) Json.asDouble(answer.get("lat"), 0) : null;
        lng = known ? (Double) Json.asDouble(answer.get("lng"), 0) : null;
        time = known && answer.get("time") instanceof Long ? (Long) answer.get("time") : null;
        until = Json.asLong(answer.get("until"), 0);
    }

    /** Null: it is none. */
    static LinkPlace read(Map<String, Object> answer) {
        return answer.get("until") instanceof Long ? new LinkPlace(answer) : null;
    }
}
