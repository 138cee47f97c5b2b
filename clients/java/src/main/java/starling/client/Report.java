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
    public final Details details;

    /** Throws InvalidPosition if it is none. */
    public Report(double lat, double lng) {
        this(lat, lng, null, null);
    }

    /** Throws InvalidPosition if it is none. */
    public Report(double lat, double lng, Long time, Double accuracy) {
        this(lat, lng, time, accuracy, Details.NONE);
    }

    /** Throws InvalidPosition if it is none. */
    public Report(double lat, double lng, Long time, Double accuracy, Details details) {
        Geo.checkPosition(lat, lng);
        this.lat = Geo.round(lat);
        this.lng = Geo.round(lng);
        this.time = time;
        this.accuracy = accuracy;
        this.details = details;
    }

    Map<String, Object> write(long now) {
        Map<String, Object> report = Json.object("lat", lat, "lng", lng, "time", time == null ? now : time, "accuracy", accuracy);
        details.write(report);
        return report;
    }
}
