package starling.client;

/** Positions are degrees, as sent: multiples of 1e-7. Distances are metres on a sphere. */
public final class Geo {
    public static final double EARTH_RADIUS_M = 6_371_008.8;

    private Geo() {}

    /** Returns the great-circle distance by the haversine formula, in metres. */
    public static double distance(double lat1, double lng1, double lat2, double lng2) {
        double p1 = Math.toRadians(lat1);
        double p2 = Math.toRadians(lat2);
        double half = Math.sin((p2 - p1) / 2);
        double across = Math.sin(Math.toRadians(lng2 - lng1) / 2);
        double h = half * half + Math.cos(p1) * Math.cos(p2) * across * across;
        return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(Math.min(1.0, h)));
    }

    /** Returns degrees as they go over the wire: both ends then compute with the same numbers. */
    static double round(double degrees) {
        return Math.rint(degrees * 1e7) / 1e7;
    }

    static boolean isPosition(double lat, double lng) {
        return Math.abs(lat) <= 90 && Math.abs(lng) <= 180; // not a number is neither
    }

    /** Throws InvalidPosition if it is none. */
    static void checkPosition(double lat, double lng) {
        checkDegrees("lat", lat, 90);
        checkDegrees("lng", lng, 180);
    }

    private static void checkDegrees(String name, double value, int limit) {
        if (!(Math.abs(value) <= limit)) { // not a number is neither
            throw new InvalidPosition("not a position: " + name + " is " + value + ", and must be from -" + limit + " to " + limit);
        }
    }
}
