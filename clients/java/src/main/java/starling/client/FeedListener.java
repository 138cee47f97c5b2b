package starling.client;

/** Hears what happens to a {@link LiveFeed}, on the thread that {@link ClientOptions#listenOn} says. */
public interface FeedListener {
    void onChange(FeedChange change);

    /** A page could not be read. It is read again after {@link LiveFeed#getRetryAfterMs}, if that is not null. */
    default void onError(ApiException error) {}

    /** older() could not read a page. */
    default void onOlderFailed(ApiException error) {}
}
