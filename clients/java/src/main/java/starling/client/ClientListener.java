package starling.client;

/** Hears what happens to a {@link StarlingClient}, on the thread that {@link ClientOptions#listenOn} says. */
public interface ClientListener {
    default void onState(StateChange change) {}

    default void onWelcome(Welcome welcome) {}

    /** The list of near friends has changed. */
    default void onChange(NearbyChange change) {}

    default void onError(ClientError error) {}
}
