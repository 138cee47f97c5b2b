package starling.client;

/** A friend who is near. */
public final class Friend {
    public final long user;
    /** Null: no profile yet. */
    public final String name;
    /** Null: none. */
    public final String avatarUrl;
    public final double lat;
    public final double lng;
    /** Metres from where I am now. */
    public final double distance;
    /** When the friend last reported, ms since the epoch by the server's clock. */
    public final long time;
    /** The friend has missed a few reports, and may be somewhere else by now. */
    public final boolean stale;
    /** The friend lets me see only about where they are: the place is the centre of a cell. */
    public final boolean rounded;
    /** Metres; null: not known, or the friend does not share it. */
    public final Double accuracy;
    /** What the friend's phone says, of friends who share it. */
    public final Details details;

    Friend(long user, String name, String avatarUrl, double lat, double lng, double distance, long time, boolean stale, boolean rounded,
            Double accuracy, Details details) {
        this.user = user;
        this.name = name;
        this.avatarUrl = avatarUrl;
        this.lat = lat;
        this.lng = lng;
        this.distance = distance;
        this.time = time;
        this.stale = stale;
        this.rounded = rounded;
        this.accuracy = accuracy;
        this.details = details;
    }

    @Override
    public String toString() {
        return (name == null ? "" : name + " ") + "(" + user + ") " + Math.round(distance) + " m";
    }
}
