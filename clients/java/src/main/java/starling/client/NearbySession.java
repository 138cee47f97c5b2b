package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The list of near friends over one connection after the other: asks for pages while more is wanted than is known, lets silent friends
 * expire, and tells of every change. Loop's thread only.
 */
final class NearbySession {
    /** The part of its client that a list needs. */
    interface Line extends Reporter.Line {
        void changed(NearbyChange change);
    }

    private static final long PAGE_TIMEOUT_MS = 10_000;
    private static final long PREFETCH_EVERY_MS = 250;
    private static final int STALE_AFTER_REPORTS = 4; // reports of a friend that did not come

    private final Line line;
    private final Loop.Timers timers;
    private final boolean prefetch;
    private final Long staleAfterMs; // null: four reports
    private boolean online;
    private boolean awaitingFirstPage = true;
    final NearbyList list = new NearbyList();

    NearbySession(Line line, Loop.Timers timers, boolean prefetch, Long staleAfterMs) {
        this.line = line;
        this.timers = timers;
        this.prefetch = prefetch;
        this.staleAfterMs = staleAfterMs;
    }

    /** The next connection is being made: its first page replaces the list. */
    void opening() {
        awaitingFirstPage = true;
        disconnected();
    }

    /** The connection is lost, and with it the answers that we wait for. Friends expire all the same. */
    void disconnected() {
        online = false;
        list.disconnected();
        scheduleExpiry();
    }

    void welcomed(Welcome welcome) {
        online = true;
        long stale = staleAfterMs != null ? staleAfterMs : welcome.reportEveryMs * STALE_AFTER_REPORTS;
        list.configure(welcome.radiusM, welcome.inactiveAfterMs, stale);
    }

    /** `nearby` */
    void paged(Map<String, Object> frame) {
        if (awaitingFirstPage) {
            list.restart(frame, line.serverNow());
        } else {
            list.page(frame, line.serverNow());
        }
        awaitingFirstPage = false;
        timers.clear("page");
        tell(new NearbyChange(NearbyChange.Cause.PAGE));
    }

    /** `update` */
    void updated(Map<String, Object> frame) {
        NearbyList.Difference difference = list.update(frame, line.serverNow());
        tell(new NearbyChange(NearbyChange.Cause.UPDATE, difference.came, difference.gone));
    }

    /** An error of the server's, perhaps about the page that we asked for. */
    void refused(ClientError.Kind kind) {
        if (list.isAsking() && kind == ClientError.Kind.BAD_CURSOR) {
            pageFailed();
        }
    }

    /** Twenty more. */
    void more() {
        list.more();
        askForPage(false);
        line.changed(new NearbyChange(NearbyChange.Cause.MORE));
    }

    private void tell(NearbyChange change) {
        askForPage(false);
        scheduleExpiry();
        line.changed(change);
    }

    private void askForPage(boolean everything) {
        if (!online || awaitingFirstPage) {
            return;
        }
        Object cursor = list.nextRequest(everything);
        if (cursor != null) {
            line.send(Json.object("type", "more", "after", cursor));
            timers.set("page", PAGE_TIMEOUT_MS, this::pageFailed);
        } else if (prefetch && !list.isComplete() && !list.isAsking() && !timers.has("prefetch")) {
            // Nothing is wanted for the list: the other pages may come at leisure.
            timers.set("prefetch", PREFETCH_EVERY_MS, () -> askForPage(true));
        }
    }

    private void pageFailed() {
        timers.clear("page");
        list.giveUpRequest();
        line.changed(new NearbyChange(NearbyChange.Cause.PAGE));
    }

    private void scheduleExpiry() {
        double at = list.nextExpiry();
        if (Double.isInfinite(at)) {
            timers.clear("expiry");
        } else {
            timers.set("expiry", (long) Math.max(1, Math.ceil(at - line.serverNow())), this::expire);
        }
    }

    private void expire() {
        List<Long> gone = new ArrayList<>();
        boolean stale = list.expire(line.serverNow(), gone);
        if (gone.isEmpty() && !stale) {
            scheduleExpiry();
        } else {
            tell(new NearbyChange(gone.isEmpty() ? NearbyChange.Cause.STALE : NearbyChange.Cause.EXPIRY, new ArrayList<Friend>(), gone));
        }
    }
}
