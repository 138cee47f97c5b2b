package starling.bench;

/** lib/geo's test in Java: the same shortcuts, and the haversine itself for what lies close to the radius. */
final class Circle {
    private static final double EARTH_M = 6371008.8, E7 = Math.PI / 180e7, GUARD = 1e-9, SMALL = 0.1;
    private static final long HALF_TURN = 1800000000L;
    static final double RADIUS_M = 8046.72;

    private final int lat, lng;
    private final double cosLat, sinLat, inner, outer;
    private final long latReach, lngReach;
    private final boolean small;

    Circle(int lat, int lng) {
        double phi = lat * E7, angle = RADIUS_M / EARTH_M, half = Math.sin(angle / 2);
        this.lat = lat;
        this.lng = lng;
        cosLat = Math.cos(phi);
        sinLat = Math.sin(phi);
        double touch = Math.sin(angle) / cosLat;
        small = touch <= Math.sin(SMALL) && cosLat >= 1e-3;
        latReach = (long) Math.ceil(angle / E7) + 2;
        lngReach = small ? (long) Math.ceil(Math.asin(touch) / E7) + 2 : HALF_TURN;
        inner = half * half * (1 - GUARD);
        outer = half * half * (1 + GUARD);
    }

    boolean near(int lat, int lng) {
        long north = (long) lat - this.lat;
        if (north > latReach || north < -latReach) return false;
        long east = Math.abs((long) lng - this.lng);
        if (east > HALF_TURN) east = 2 * HALF_TURN - east;
        if (east > lngReach) return false;
        if (small) {
            double d = north * E7, l = east * E7, d2 = d * d;
            double cosD = 1 - d2 * (1 / 2.0 - d2 * (1 / 24.0 - d2 * (1 / 720.0)));
            double sinD = d * (1 - d2 * (1 / 6.0 - d2 * (1 / 120.0)));
            double h = haversine(d2) + cosLat * (cosLat * cosD - sinLat * sinD) * haversine(l * l);
            if (h <= inner) return true;
            if (h >= outer) return false;
        }
        double sinLat = Math.sin(north * (E7 / 2)), sinLng = Math.sin(east * (E7 / 2));
        double h = sinLat * sinLat + cosLat * Math.cos(lat * E7) * (sinLng * sinLng);
        return 2 * EARTH_M * Math.asin(Math.sqrt(Math.min(h, 1))) <= RADIUS_M;
    }

    private static double haversine(double square) {
        return square * (1 / 4.0 - square * (1 / 48.0 - square * (1 / 1440.0)));
    }
}
