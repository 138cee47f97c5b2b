package starling.client;

import java.util.Map;

/** What a phone says beside the place; null: it does not say. */
public final class Details extends Shown {
    /** Nothing. */
    public static final Details NONE = new Details(null, null, null, null, null, null);

    /** 0 to 1. */
    public final Double battery;
    public final Boolean charging;
    /** Metres a second. */
    public final Double speed;
    /** Degrees, clockwise from north. */
    public final Double course;
    /** still, walking, running, cycling, driving, transit or unknown. */
    public final String activity;
    /** Metres. */
    public final Double verticalAccuracy;

    public Details(Double battery, Boolean charging, Double speed, Double course, String activity, Double verticalAccuracy) {
        this.battery = battery;
        this.charging = charging;
        this.speed = speed;
        this.course = course;
        this.activity = activity;
        this.verticalAccuracy = verticalAccuracy;
    }

    /** Of an object that has whatever else. */
    static Details read(Map<String, Object> item) {
        Object charging = item.get("charging");
        return new Details(number(item, "battery"), charging instanceof Boolean ? (Boolean) charging : null, number(item, "speed_mps"),
                number(item, "course"), Json.asText(item.get("activity")), number(item, "vertical_accuracy_m"));
    }

    static Double number(Map<String, Object> item, String name) {
        return item.get(name) instanceof Number ? ((Number) item.get(name)).doubleValue() : null;
    }

    /** Adds what is said to a report. */
    void write(Map<String, Object> report) {
        report.putAll(Json.object("battery", battery, "charging", charging, "speed_mps", speed, "course", course, "activity", activity,
                "vertical_accuracy_m", verticalAccuracy));
    }
}
