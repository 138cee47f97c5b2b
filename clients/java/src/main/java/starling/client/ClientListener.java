package starling.client;

import java.util.List;

/** Hears what happens to a {@link StarlingClient}, on the thread that {@link ClientOptions#listenOn} says. */
public interface ClientListener {
    default void onState(StateChange change) {}

    default void onWelcome(Welcome welcome) {}

    /** The list of near friends has changed. */
    default void onChange(NearbyChange change) {}

    /** The answer to {@link StarlingClient#discover}. */
    default void onStrangers(Strangers page) {}

    /**
     * Users of those answers who no longer share with everybody, or all of them when I do not: take them off the screen at once.
     */
    default void onStrangersGone(List<Long> gone) {}

    default void onError(ClientError error) {}
}
