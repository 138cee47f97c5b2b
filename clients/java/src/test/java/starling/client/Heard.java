package starling.client;

import static org.junit.Assert.assertTrue;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Everything that listeners hear, in order. */
final class Heard implements ClientListener, FeedListener, ThreadListener, NoticesListener {
    /** Everything that one listener heard. */
    private final LinkedBlockingQueue<Object> events = new LinkedBlockingQueue<>();

    @Override
    public void onState(StateChange change) {
        events.add(change);
    }

    @Override
    public void onWelcome(Welcome welcome) {
        events.add(welcome);
    }

    @Override
    public void onChange(NearbyChange change) {
        events.add(change);
    }

    @Override
    public void onError(ClientError error) {
        events.add(error);
    }

    @Override
    public void onChange(FeedChange change) {
        events.add(change);
    }

    @Override
    public void onError(ApiException error) {
        events.add(error);
    }

    @Override
    public void onOlderFailed(ApiException error) {
        events.add(error);
    }

    @Override
    public void onChange(ThreadChange change) {
        events.add(change);
    }

    @Override
    public void onChange(NoticesChange change) {
        events.add(change);
    }

    @Override
    public void onStale(long version) {
        events.add(version);
    }

    /** The next event of that type; others are passed over. */
    <T> T next(Class<T> type) throws InterruptedException {
        for (;;) {
            Object event = events.poll(10, TimeUnit.SECONDS);
            assertTrue("no " + type.getSimpleName(), event != null);
            if (type.isInstance(event)) {
                return type.cast(event);
            }
        }
    }

    /** The next change to that state. */
    StateChange state(State state) throws InterruptedException {
        for (;;) {
            StateChange change = next(StateChange.class);
            if (change.state == state) {
                return change;
            }
        }
    }
}
