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

    Friend(long user, String name, String avatarUrl, double lat, double lng, double distance, long time, boolean stale, boolean rounded) {
        this.user = user;
        this.name = name;
        this.avatarUrl = avatarUrl;
        this.lat = lat;
        this.lng = lng;
        this.distance = distance;
        this.time = time;
        this.stale = stale;
        this.rounded = rounded;
    }

    @Override
    public String toString() {
        return (name == null ? "" : name + " ") + "(" + user + ") " + Math.round(distance) + " m";
    }
}
