package starling.client;

import java.util.Map;

/** Where I am, or was. */
public final class Report extends Shown {
    public final double lat;
    public final double lng;
    /** When the position was taken, ms since the epoch; null: when it is sent. */
    public final Long time;
    /** Metres; null: not known. */
    public final Double accuracy;

    /** Throws InvalidPosition if it is none. */
    public Report(double lat, double lng) {
        this(lat, lng, null, null);
    }

    /** Throws InvalidPosition if it is none. */
    public Report(double lat, double lng, Long time, Double accuracy) {
        Geo.checkPosition(lat, lng);
        this.lat = Geo.round(lat);
        this.lng = Geo.round(lng);
        this.time = time;
        this.accuracy = accuracy;
    }

    Map<String, Object> write(long now) {
        return Json.object("lat", lat, "lng", lng, "time", time == null ? now : time, "accuracy", accuracy);
    }
}
