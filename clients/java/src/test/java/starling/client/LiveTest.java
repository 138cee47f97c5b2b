package starling.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import okhttp3.OkHttpClient;
import okhttp3.mockwebserver.MockResponse;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/** Home timelines and threads of comments against an edge and an API that the test plays. */
public final class LiveTest {
    private final Heard heard = new Heard();
    private final LinkedBlockingQueue<MockResponse> answers = new LinkedBlockingQueue<>();
    private final List<String> asked = Collections.synchronizedList(new ArrayList<String>());
    private Edge edge;
    private StarlingApi api;
    private StarlingClient client;
    private Edge.Line line;

    @Before
    public void start() throws Exception {
        edge = new Edge();
        edge.http = request -> {
            asked.add(request.getPath());
            return answers.take();
        };
        api = new StarlingApi(new OkHttpClient(), edge.httpUrl(), "token");
        client = new StarlingClient(new ClientOptions(edge.wsUrl(), "token"));
        client.addListener(new ClientListener() {
            @Override
            public void onState(StateChange change) {
                heard.onState(change);
            }
        });
        client.connect();
        online();
    }

    private void online() throws InterruptedException {
        line = edge.take();
        line.greet();
        heard.state(State.ONLINE);
    }

    @After
    public void stop() throws IOException {
        client.close();
        edge.close();
    }

    private void page(String version, String next, long... posts) {
        List<String> items = new ArrayList<>();
        for (long post : posts) {
            items.add(Edge.post(post));
        }
        answers.add(Edge.json(200, "{'items':[" + String.join(",", items) + "],'next':" + next + ",'complete':true,'version':'" + version + "'}"));
    }

    private static List<String> ids(List<Post> posts) {
        List<String> ids = new ArrayList<>();
        for (Post post : posts) {
            ids.add(post.id);
        }
        return ids;
    }

    private LiveFeed watch() throws InterruptedException {
        LiveFeed feed = client.watchFeed(api, heard);
        assertEquals(FeedChange.Cause.PAGE, heard.next(FeedChange.class).cause);
        return feed;
    }

    @Test
    public void postsComeAndGo() throws Exception {
        page("v1", "'50'", 60, 50);
        LiveFeed feed = watch();
        assertEquals(Arrays.asList("60", "50"), ids(feed.getList()));
        assertEquals("v1", line.hear("watch").get("version"));
        assertTrue(feed.hasMore() && feed.isComplete());
        line.say("{'type':'posts','since':'v1','version':'v2','items':[" + Edge.post(100) + "," + Edge.post(9) + "],'gone':['60']}");
        FeedChange change = heard.next(FeedChange.class);
        assertEquals(FeedChange.Cause.POSTS, change.cause);
        assertEquals(Collections.singletonList("100"), ids(change.came)); // 9 waits for its page
        assertEquals(Collections.singletonList("60"), change.gone);
        assertEquals(Arrays.asList("100", "50"), ids(feed.getList()));
        page("", "null", 9, 8);
        feed.older();
        assertEquals(FeedChange.Cause.OLDER, heard.next(FeedChange.class).cause);
        assertEquals(Arrays.asList("100", "50", "9", "8"), ids(feed.getList()));
        assertFalse(feed.hasMore());
        feed.drop(post -> post.id.equals("50"));
        assertEquals(Collections.singletonList("50"), heard.next(FeedChange.class).gone);
        feed.close();
        line.hear("unwatch");
        assertEquals(Arrays.asList("/v1/feed?limit=20", "/v1/feed?after=50&limit=20"), asked);
    }

    @Test
    public void whatIsMissingIsReadAgain() throws Exception {
        page("v1", "null", 1);
        LiveFeed feed = watch();
        page("v4", "null", 3, 1);
        line.say("{'type':'posts','since':'v3','version':'v4','items':[],'gone':[]}");
        assertEquals(FeedChange.Cause.PAGE, heard.next(FeedChange.class).cause);
        assertEquals("v4", feed.getVersion());
        page("v4", "null", 3, 1); // from a copy that is a moment old
        page("v5", "null", 4, 3, 1);
        line.say("{'type':'stale','what':'feed','version':'v5','after_ms':10}");
        assertEquals("v4", versionAfter(feed));
        assertEquals("v5", versionAfter(feed));
        line.say("{'type':'stale','what':'feed','version':'v5','after_ms':0}"); // it has that
        answers.add(Edge.json(404, "{'code':'not_found'}"));
        feed.refresh();
        ApiException error = heard.next(ApiException.class);
        assertEquals(error, feed.getFailure());
        assertNull(feed.getRetryAfterMs());
        answers.add(Edge.json(503, "{}"));
        page("v6", "null", 5);
        feed.refresh();
        heard.next(ApiException.ServerUnavailable.class);
        assertNotNull(feed.getRetryAfterMs());
        assertEquals("v6", versionAfter(feed));
        assertNull(feed.getFailure());
    }

    private String versionAfter(LiveFeed feed) throws InterruptedException {
        assertEquals(FeedChange.Cause.PAGE, heard.next(FeedChange.class).cause);
        return feed.getVersion();
    }

    @Test
    public void unavailablePostsAreFilled() throws Exception {
        answers.add(Edge.json(200, "{'items':[{'id':'7','user':1,'time':3,'unavailable':true},{'id':'6','user':1,'time':2}],'next':null,"
                + "'complete':true,'version':'v1'}"));
        LiveFeed feed = watch();
        assertTrue(feed.getList().get(0).unavailable);
        answers.add(Edge.json(200, Edge.post(7)));
        answers.add(Edge.json(404, "{}"));
        FeedChange change = heard.next(FeedChange.class);
        assertEquals(FeedChange.Cause.FILLED, change.cause);
        assertEquals(Collections.singletonList("6"), change.gone);
        assertEquals("t7", feed.getList().get(0).text);
    }

    @Test
    public void aNewConnectionWatchesAgain() throws Exception {
        page("v1", "null", 1);
        watch();
        LiveThread thread = client.watchComments("post:5", heard);
        thread.read(57);
        assertEquals("feed", line.hear("watch").get("what"));
        Map<String, Object> watch = line.hear("watch");
        assertEquals(Arrays.<Object>asList("comments", "post:5", 57L), Arrays.asList(watch.get("what"), watch.get("subject"), watch.get("version")));
        edge.cut();
        online();
        assertEquals("feed", line.hear("watch").get("what"));
        assertEquals("post:5", line.hear("watch").get("subject"));
        thread.close();
        assertEquals("post:5", line.hear("unwatch").get("subject"));
        assertThrows(IllegalArgumentException.class, () -> client.watchComments("post", heard));
    }

    private static String comments(long since, long version, boolean sampled, String items, String gone) {
        return "{'type':'comments','subject':'post:5','since':" + since + ",'version':" + version + ",'total':12,'likes':6,'sampled':" + sampled
                + ",'items':[" + items + "],'gone':[" + gone + "],'counters':[{'id':'3','likes':2,'reply_count':1},{}]}";
    }

    @Test
    public void aThreadTellsChangesAndAsksForReadings() throws Exception {
        LiveThread thread = client.watchComments("post:5", heard);
        thread.read(57);
        line.hear("watch");
        String hidden = "{'id':'8','user':42,'text':null,'state':'hidden'}";
        String fresh = "{'id':'9','user':42,'text':'Hi','state':'visible'}";
        line.say(comments(50, 57, false, fresh, "")); // an old one
        line.say(comments(56, 58, false, fresh + "," + hidden, "'8'"));
        ThreadChange change = heard.next(ThreadChange.class);
        assertEquals(Arrays.<Object>asList(12L, 6L, 2, "8", 1, "3", 2L, 1L), Arrays.<Object>asList(change.total, change.likes, change.items.size(),
                change.gone.get(0), change.counters.size(), change.counters.get(0).id, change.counters.get(0).likes, change.counters.get(0).replyCount));
        assertEquals(58, (long) thread.getVersion());
        line.say(comments(60, 61, false, fresh + "," + hidden, "'8'")); // something is missing before it
        change = heard.next(ThreadChange.class);
        assertTrue(change.sampled);
        assertEquals(1, change.items.size());
        assertEquals(61, (long) heard.next(Long.class));
        thread.read(60); // from a copy that is a second old
        assertEquals(61, (long) heard.next(Long.class));
        thread.read(61);
        line.say(comments(0, 40, true, fresh, ""));
        assertTrue(heard.next(ThreadChange.class).sampled);
        assertEquals(61, (long) thread.getVersion());
        line.say("{'type':'stale','what':'comments','subject':'post:5','version':70,'after_ms':5}");
        assertEquals(70, (long) heard.next(Long.class));
    }

    private static String notices(long unread, long... times) {
        List<String> items = new ArrayList<>();
        for (long time : times) {
            items.add("{'id':'" + time + ".1.7','what':'follow','user':7,'subject':null,'comment':null,'time':" + time + "}");
        }
        return "{'type':'notices','unread':" + unread + ",'items':[" + String.join(",", items) + "]}";
    }

    private void heardNotices(long unread, boolean first, Long... times) throws InterruptedException {
        NoticesChange change = heard.next(NoticesChange.class);
        List<Long> heardTimes = new ArrayList<>();
        for (Notice notice : change.items) {
            heardTimes.add(notice.time);
        }
        assertEquals(Arrays.<Object>asList(unread, first, Arrays.asList(times)), Arrays.<Object>asList(change.unread, change.first, heardTimes));
    }

    @Test
    public void eachNoticeIsToldOnceOnAllConnections() throws Exception {
        LiveNotices notices = client.watchNotices(heard);
        assertNull(notices.getUnread());
        assertEquals("notices", line.hear("watch").get("what"));
        line.say(notices(1, 2, 1));
        heardNotices(1, true, 2L, 1L);
        line.say(notices(2, 3));
        heardNotices(2, false, 3L);
        line.say(notices(0));
        heardNotices(0, false);
        edge.cut();
        online();
        assertEquals("notices", line.hear("watch").get("what"));
        line.say(notices(1, 4, 3, 2));
        heardNotices(1, false, 4L);
        assertEquals(1, (long) notices.getUnread());

        LiveNotices other = client.watchNotices(heard); // the first one ends
        assertEquals("notices", line.hear("unwatch").get("what"));
        assertEquals("notices", line.hear("watch").get("what"));
        line.say(notices(5, 5));
        heardNotices(5, true, 5L);
        assertEquals(1, (long) notices.getUnread());
        other.close();
        assertEquals("notices", line.hear("unwatch").get("what"));
        line.say(notices(6, 6));
        edge.cut();
        online();
        client.discover(null, null);
        line.hear("discover");
        assertEquals(5, (long) other.getUnread());
    }

    @Test
    public void noticesThatWereToldLongAgoAreForgotten() throws Exception {
        client.watchNotices(heard);
        line.hear("watch");
        for (long time = 1; time <= 1500; time++) {
            line.say(notices(1, time));
            heard.next(NoticesChange.class);
        }
        line.say(notices(1, 1500, 1499, 1));
        heardNotices(1, false, 1L);
    }
}
