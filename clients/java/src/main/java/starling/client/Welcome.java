package starling.client;

import java.util.Map;

/** The server's answer to a good hello. */
public final class Welcome extends Shown {
    public final long user;
    /** The id of this session among my devices; null: the server says none. */
    public final String session;
    /** Ms since the epoch. */
    public final long serverTime;
    public final double radiusM;
    public final long reportEveryMs;
    public final long inactiveAfterMs;

    Welcome(Map<String, Object> frame, double now) {
        user = Json.asLong(frame.get("user"), 0);
        session = frame.get("session") == null ? null : String.valueOf(frame.get("session"));
        serverTime = (long) Json.asDouble(frame.get("server_time"), now);
        radiusM = positive(frame.get("radius_m"), Double.POSITIVE_INFINITY);
        reportEveryMs = (long) (positive(frame.get("report_every_s"), 30) * 1000);
        inactiveAfterMs = (long) (positive(frame.get("inactive_after_s"), 600) * 1000);
    }

    private static double positive(Object value, double otherwise) {
        double number = Json.asDouble(value, otherwise);
        return number > 0 ? number : otherwise;
    }
}
