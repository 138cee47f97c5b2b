package starling.client;

/** Hears what happens to a {@link LiveThread}, on the thread that {@link ClientOptions#listenOn} says. */
public interface ThreadListener {
    void onChange(ThreadChange change);

    /** Read the pages again now, and call read(). It comes again, later each time, while they are older than `version`. */
    void onStale(long version);
}
