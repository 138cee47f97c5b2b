package starling.client;

/** Hears what happens to {@link LiveNotices}, on the thread that {@link ClientOptions#listenOn} says. */
public interface NoticesListener {
    void onChange(NoticesChange change);
}
