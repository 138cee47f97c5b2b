package starling.client;

import java.util.Map;

/** My position on its way to the server: in every hello, after moves (one a second at most), and every so often. Loop's thread only. */
final class Reporter {
    /** The part of its client that a reporter needs. */
    interface Line {
        void send(Map<String, Object> frame);

        /** Returns ms since the epoch by the server's clock. */
        double serverNow();
    }

    private final Line line;
    private final Loop.Timers timers;
    private final long throttleMs;
    private long everyMs = 30_000; // until the server's welcome says otherwise
    private boolean placed;
    private double lat;
    private double lng;
    private Double accuracy;
    private Details details = Details.NONE;
    private Long sentAtMs;
    private long sentTime;
    private boolean sent; // where I am now was reported

    Reporter(Line line, Loop.Timers timers, long throttleMs) {
        this.line = line;
        this.timers = timers;
        this.throttleMs = throttleMs;
    }

    /** I am here now; a rounded position. accuracy: metres, or null. */
    void move(double newLat, double newLng, Double newAccuracy, Details newDetails) {
        sent = sent && placed && newLat == lat && newLng == lng;
        placed = true;
        lat = newLat;
        lng = newLng;
        accuracy = newAccuracy;
        details = newDetails;
    }

    /** The clock was wrong: the last report had a wrong time, and goes out once more. */
    void forget() {
        sent = false;
    }

    /** Adds the members that a hello has for its position; it counts as sent. */
    void hello(Map<String, Object> frame) {
        if (placed) {
            report(frame);
        }
    }

    /** The server takes reports, and wants one that often. */
    void welcomed(long newEveryMs) {
        everyMs = newEveryMs;
        if (placed && !sent) {
            soon();
        } else if (placed) {
            schedule();
        }
    }

    /** Reports at once, or as soon as a second has passed since the report before. */
    void soon() {
        long wait = sentAtMs == null ? 0 : sentAtMs + throttleMs - Loop.nowMs();
        if (wait <= 0) {
            sendLocation();
        } else if (!timers.has("soon")) {
            timers.set("soon", wait, this::sendLocation);
        }
    }

    private void sendLocation() {
        timers.clear("soon");
        if (placed) {
            Map<String, Object> frame = Json.object("type", "location");
            report(frame);
            line.send(frame);
        }
        schedule();
    }

    private void schedule() {
        timers.set("report", everyMs, this::sendLocation);
    }

    /** Its time is later than that of the report before, also after our clock was set back: the server ignores older ones. */
    private void report(Map<String, Object> frame) {
        sentTime = Math.max(sentTime + 1, Math.round(line.serverNow()));
        sentAtMs = Loop.nowMs();
        sent = true;
        frame.put("lat", lat);
        frame.put("lng", lng);
        frame.put("time", sentTime);
        if (accuracy != null) {
            frame.put("accuracy", accuracy);
        }
        details.write(frame);
    }
}
