package starling.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import okhttp3.OkHttpClient;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.RecordedRequest;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/** The HTTP API against a server that the test plays. */
public final class StarlingApiTest {
    private static final String POST = "{'id':'5','user':9007199254740993,'name':'','avatar_url':'','text':'','media':['m'],'time':3,'comments':2,"
            + "'likes':4,'liked':true}";

    private final OkHttpClient http = new OkHttpClient();
    private final LinkedBlockingQueue<MockResponse> answers = new LinkedBlockingQueue<>();
    private Edge edge;
    private StarlingApi api;

    @Before
    public void start() throws IOException {
        edge = new Edge();
        edge.http = request -> answers.take();
        api = new StarlingApi(http, edge.httpUrl(), "token");
    }

    @After
    public void stop() throws IOException {
        edge.close();
    }

    private void answer(int status, String text) {
        answers.add(Edge.json(status, text));
    }

    /** "METHOD path" of the requests, in order. */
    private List<String> asked() {
        List<String> lines = new ArrayList<>();
        for (RecordedRequest request : edge.requests) {
            lines.add(request.getMethod() + " " + request.getPath());
        }
        return lines;
    }

    @Test
    public void textsOfASignInProvider() throws Exception {
        answer(200, "{'user':7,'external':'auth0|a'}");
        answer(200, "{'users':[{'user':7,'external':'auth0|a'}]}");
        answer(200, "{'users':[{'user':7,'external':'auth0|a'}]}");
        assertEquals(7, api.getMe());
        assertEquals(Collections.singletonMap(7L, "auth0|a"), api.getExternals(Arrays.asList(7L, 8L)));
        assertEquals(Collections.singletonMap("auth0|a", 7L), api.getUsersByExternals(Arrays.asList("auth0|a", "b")));
        assertEquals(Arrays.asList("GET /v1/me", "GET /v1/externals?users=7%2C8", "GET /v1/externals?externals=auth0%7Ca%2Cb"), asked());
    }

    @Test
    public void aBadReportIsLeftOutAndTheOthersAreTaken() throws Exception {
        Report bad = new Report(1, 2, 4L, null);
        answer(400, "{'code':'bad_time','detail':'Too old.','index':1}");
        answer(200, "{'accepted':1,'sharing_off':0}");
        answer(400, "{'code':'bad_time','detail':'Too old.','index':0}");
        assertEquals(Arrays.asList(bad), api.report(Arrays.asList(new Report(1, 2, 3L, null), bad)).refused);
        assertThrows(ApiException.BadRequest.class, () -> api.report(Arrays.asList(bad)));
        assertEquals("{\"locations\":[{\"lat\":1.0,\"lng\":2.0,\"time\":3}]}", edge.requests.get(1).getBody().readUtf8());
    }

    @Test
    public void aPostIsSentWithTheSameKeyUntilItIsDecided() throws Exception {
        answer(202, "{}");
        answer(503, "{'code':'unavailable','detail':'Not now.'}");
        answer(201, POST);
        Post post = api.createPost("Grüße", Collections.singletonList("m"), "k");
        assertEquals(Arrays.<Object>asList("5", 9007199254740993L, null, "", Collections.singletonList("m"), false, 2L, 4L, true),
                Arrays.<Object>asList(post.id, post.user, post.name, post.text, post.media, post.unavailable, post.comments, post.likes,
                        post.liked));
        assertEquals(3, edge.requests.size());
        for (RecordedRequest request : edge.requests) {
            assertEquals("Bearer token", request.getHeader("Authorization"));
            assertEquals("application/json", request.getHeader("Content-Type"));
            assertEquals("{\"text\":\"Grüße\",\"key\":\"k\",\"media\":[\"m\"]}", request.getBody().readUtf8());
        }
    }

    @Test
    public void errorsHaveTypes() {
        answer(404, "{'code':'not_found','detail':'There is none.'}");
        ApiException.NotFound missing = assertThrows(ApiException.NotFound.class, () -> api.getPost("5"));
        assertEquals("There is none.", missing.getMessage());
        assertFalse(missing.isPassing());
        answer(401, "{}");
        assertThrows(ApiException.TokenRefused.class, () -> api.getPost("5"));
        answer(409, "{'code':'handle_taken','title':'Taken'}");
        assertEquals("handle_taken", assertThrows(ApiException.Conflict.class, () -> api.setHandle("ben")).code);
        answers.add(Edge.json(429, "{}").setHeader("Retry-After", "40"));
        ApiException.TooManyRequests many = assertThrows(ApiException.TooManyRequests.class, () -> api.follow(7)); // beyond its patience
        assertEquals(40_000, (long) many.retryAfterMs);
        answer(502, "<html>");
        ApiException.ServerUnavailable away = assertThrows(ApiException.ServerUnavailable.class, () -> api.getPost("5"));
        assertEquals("unknown", away.code);
        assertTrue(away.isPassing());
        answer(200, "not JSON");
        assertEquals("bad_answer", assertThrows(ApiException.class, () -> api.getPost("5")).code);
        answer(200, "{'id':'x'}");
        assertEquals("bad_answer", assertThrows(ApiException.class, () -> api.getPost("5")).code);
        answer(400, "{'code':'bad_text'}");
        assertEquals(400, assertThrows(ApiException.BadRequest.class, () -> api.createPost("")).status);
        answer(401, "{'code':'token_expired'}");
        assertThrows(ApiException.TokenExpired.class, () -> api.getPost("5"));
        answer(403, "{'code':'not_public'}");
        assertEquals("not_public", assertThrows(ApiException.Forbidden.class, () -> api.getStrangers(null, null)).code);
        answer(500, "{}");
        assertFalse(assertThrows(ApiException.ServerUnavailable.class, () -> api.getPost("5")).isPassing());
    }

    @Test
    public void whatIsNotDecidedInTimeIsPending() throws Exception {
        StarlingApi hasty = new StarlingApi(http, edge.httpUrl(), () -> "token", 0);
        answers.add(Edge.json(202, "{}").setHeader("Retry-After", "2"));
        assertEquals(2_000, (long) assertThrows(ApiException.Undecided.class, () -> hasty.deletePost("5")).retryAfterMs);
    }

    @Test
    public void nobodyThere() throws Exception {
        edge.close();
        ApiException.Unreachable away = assertThrows(ApiException.Unreachable.class, () -> api.getPost("5"));
        assertEquals(Arrays.asList("unreachable", NoConnection.REFUSED), Arrays.asList(away.code, away.why));
        assertTrue(away.isPassing() && away.getMessage().startsWith("Nobody listens at http://"));
        edge = new Edge();
    }

    @Test
    public void aTokenFunctionThatThrows() throws Exception {
        StarlingApi tokenless = new StarlingApi(http, edge.httpUrl(), () -> {
            throw new IOException("signed out");
        });
        ApiException error = assertThrows(ApiException.class, () -> tokenless.follow(7));
        assertEquals("no_token", error.code);
        assertTrue(error.getMessage().contains("signed out"));
        tokenless.renew("token");
        answer(200, "{'following':true}");
        assertTrue(tokenless.follow(7));
    }

    @Test
    public void anInterruptedThreadStops() throws Exception {
        Thread.currentThread().interrupt();
        ApiException error = assertThrows(ApiException.class, () -> api.follow(7));
        assertTrue(Thread.interrupted());
        assertEquals(0, error.status);
    }

    @Test
    public void pagesOfComments() throws Exception {
        String comment = "{'id':'8','user':42,'name':null,'text':'Hi','time':1,'floor':9,'root':null,'reply_to':null,'likes':3,"
                + "'reply_count':1,'replies':[{'id':'9','user':1,'text':null,'state':'hidden','root':'8'}],'state':'visible','liked':true}";
        answers.add(Edge.json(200, "{'items':[" + comment + ",7,{'id':'1'}],'next':'n','total':2,'version':57,'closed':false,'owner':4,"
                + "'pinned':[" + comment + "]}").setHeader("ETag", "\"e\""));
        CommentsQuery query = new CommentsQuery().sort(CommentsQuery.Sort.HEAT).replies(2).after("a b").limit(5).liked();
        CommentPage page = api.getComments("post:5", query);
        assertEquals("GET /v1/comments/post/5?sort=heat&replies=2&liked=true&after=a%20b&limit=5", asked().get(0));
        assertEquals(1, page.items.size());
        assertEquals(Comment.State.HIDDEN, page.items.get(0).replies.get(0).state);
        assertNull(page.items.get(0).replies.get(0).text);
        assertEquals(Arrays.<Object>asList("n", 2L, 57L, false, 4L, "\"e\"", 1, true),
                Arrays.<Object>asList(page.next, page.total, page.version, page.closed, page.owner, page.etag, page.pinned.size(),
                        page.items.get(0).liked));
        answers.add(new MockResponse().setResponseCode(304));
        assertNull(api.getComments("post:5", new CommentsQuery().etag(page.etag)));
        assertEquals("\"e\"", edge.requests.get(1).getHeader("If-None-Match"));
        assertThrows(IllegalArgumentException.class, () -> api.getComments("post:.."));
        assertThrows(IllegalArgumentException.class, () -> api.getComments("post"));
    }

    @Test
    public void strangersAreKnownByTheirCells() throws Exception {
        answer(200, "{'items':[{'user':9223372036854775807,'name':'','avatar_url':'','lat':1.5,'lng':2,'distance_m':12.5,'time':300000},{},"
                + "{'user':7,'name':'Ada','avatar_url':'a','lat':1.5,'lng':2,'distance_m':12.5,'time':300000}],'next':'1-125-7',"
                + "'cell':{'height':0.5,'width':1}}");
        Strangers page = api.getStrangers("1-1-1", 2);
        Stranger first = page.items.get(0);
        assertEquals(Arrays.<Object>asList(Long.MAX_VALUE, null, null, 1.5, 2.0, 12.5, 300_000L), Arrays.<Object>asList(first.user, first.name,
                first.avatarUrl, first.lat, first.lng, first.distance, first.time));
        assertEquals("Ada", page.items.get(1).name);
        assertEquals(Arrays.<Object>asList("1-125-7", 0.5, 1.0), Arrays.<Object>asList(page.next, page.cellHeight, page.cellWidth));
        assertEquals("GET /v1/discover?after=1-1-1&limit=2", asked().get(0));
        answer(200, "{'items':[]}");
        assertEquals("bad_answer", assertThrows(ApiException.class, () -> api.getStrangers(null, null)).code);
    }

    @Test
    public void whoSeesMyPostsAndWhoHasAskedTo() throws Exception {
        for (String text : new String[] {"{'posts':'everybody'}", "{'posts':'followers'}", "{'user':8,'follow':'requested'}", "{'user':8,'follow':null}",
            "{'items':[{'user':9}],'total':1}", "{'items':[{'user':8}],'total':1}", "{'items':[{'user':6}],'next':6}", "{'user':8,'follower':true}"}) {
            answer(200, text);
        }
        answer(204, "");
        assertEquals(Arrays.asList("everybody", "followers"), Arrays.asList(api.getVisibility(), api.setVisibility("followers")));
        assertEquals(Arrays.asList("requested", null), Arrays.asList(api.getUser(8).follow, api.getUser(8).follow));
        assertEquals(9, api.getMyRequests(null, 5).items.get(0).user);
        assertEquals(8, api.getFollowRequests("3", 5).items.get(0).user);
        assertEquals(6, api.getNearbyMutes(null, 1).items.get(0).user);
        assertTrue(api.acceptFollower(8));
        api.removeFollower(8);
        assertEquals(Arrays.asList("GET /v1/visibility", "PUT /v1/visibility", "GET /v1/users/8", "GET /v1/users/8",
                "GET /v1/follows/requests?limit=5", "GET /v1/followers/requests?after=3&limit=5", "GET /v1/nearby/mutes?limit=1", "PUT /v1/followers/8", "DELETE /v1/followers/8"), asked());
    }

    @Test
    public void aListIsReadToItsEnd() throws Exception {
        answer(200, "{'items':[{'user':1,'state':'invited','rounded':true}],'next':1}");
        answer(503, "{'code':'owner_unavailable'}");
        answer(200, "{'items':[],'next':5}");
        answer(200, "{'items':[{'user':9,'state':'invited'}],'next':null}");
        List<Object> found = new ArrayList<>();
        for (Page<Friendship> page = api.getFriends("invited", null, 1); page != null; page = api.pageAfter(page)) {
            page.items.forEach(one -> found.addAll(Arrays.asList(one.user, one.rounded)));
        }
        assertEquals(Arrays.<Object>asList(1L, true, 9L, false), found);
        String first = "GET /v1/friends?state=invited&limit=1";
        assertEquals(Arrays.asList(first, first + "&after=1", first + "&after=1", first + "&after=5"), asked());
        answer(200, "{'items':[{'id':'8','user':42,'state':'held','subject':'post:5'}],'next':'8'}");
        answer(409, "{'code':'no_position','index':3}");
        Page<OwnComment> mine = api.getCommentsOf(42, null, 1);
        assertEquals("post:5", mine.items.get(0).subject);
        assertEquals(3L, assertThrows(ApiException.Conflict.class, () -> api.pageAfter(mine)).getProblem().get("index"));
        assertEquals("GET /v1/users/42/comments?limit=1&after=8", asked().get(5));
        assertThrows(IllegalArgumentException.class, () -> api.pageAfter(new Page<>(Collections.emptyList(), null)));
    }

    @Test
    public void anIdChoosesNoRequest() {
        for (String bad : new String[] {"", ".", "..", "../me", "5/like"}) {
            assertThrows(IllegalArgumentException.class, () -> api.getPost(bad));
            assertThrows(IllegalArgumentException.class, () -> api.deleteComment("post:5", bad));
        }
        assertEquals(0, edge.requests.size());
    }

    @Test
    public void everyCallAsksWhatItShould() throws Exception {
        String comment = "{'id':'8','user':42,'state':'visible'}";
        String[] said = {POST, "{}", "{'likes':3,'liked':true}", "{'likes':2,'liked':false}",
            "{'items':[{'user':7,'name':'Ada','handle':'ada'},{}],'next':7}", "{'items':[" + POST + "],'next':null}", "{'items':[],'version':'v','complete':true}",
            "{'items':[],'version':'v','complete':true}",
            "{'items':[{'id':'1.3.8','what':'reply','user':42,'subject':'post:5','comment':'8','time':4},{'what':7},"
                + "{'id':'1.6.7','what':'like','user':7,'subject':'post:5','comment':null,'time':1,'count':14,'users':[7,8]}],'unread':2}",
            "{'unread':3}", "{'like':{'live':true,'push':false}}", "{'like':{'live':false,'push':true}}",
            "{'items':[" + comment + "],'next':'x'}", "{'items':[" + comment + "],'next':'z'}", comment, "{'item':" + comment + ",'root':null,'around':[" + comment + "]}", comment,
            "{}", "{'likes':3}", "{'likes':2}", "{'pinned':true}", "{'pinned':false}", "{'user':7,'handle':'ben','followers':2}",
            "{'user':7}", "{'handle':'ben'}", "{}", "{'following':true}", "{'following':false}", "{'muted':true}", "{'muted':false}",
            "{'muted':true}", "{'muted':false}", "{'rounded':true}", "{'rounded':false}",
            "{'items':[{'user':3}],'total':9,'next':'3'}", "{'items':[{'user':4}]}", "{'items':[{'user':5}]}",
            "{'items':[{'user':8,'name':'Ben','avatar_url':'','handle':'ben'},{'user':7,'name':null,'handle':null}]}", "{'a':[1.5,null]}"};
        for (String text : said) {
            answer(200, text);
        }
        assertEquals("5", api.getPost("5").id);
        api.deletePost("5");
        assertEquals(5, api.likePost("5") + api.unlikePost("5"));
        Page<User> likes = api.getLikes("5", "3", 1);
        assertEquals(Arrays.<Object>asList(1, "Ada", "ada", "7"), Arrays.<Object>asList(likes.items.size(), likes.items.get(0).name,
                likes.items.get(0).handle, likes.next));
        assertEquals(1, api.getPosts(7, 1L, 2L, "c", 3).items.size());
        assertEquals("v", api.getFeed(null, 20).version);
        assertEquals("v", api.getFeed(1L, 2L, "c", 20).version);
        NoticePage notices = api.getNotices();
        Notice like = notices.items.get(1);
        assertEquals(Arrays.<Object>asList("5", "8", 1L, Collections.singletonList(42L), 2L), Arrays.<Object>asList(
                notices.items.get(0).post, notices.items.get(0).comment, notices.items.get(0).count, notices.items.get(0).users, notices.unread));
        assertEquals(Arrays.<Object>asList("like", 14L, Arrays.asList(7L, 8L)), Arrays.<Object>asList(like.what, like.count, like.users));
        assertEquals(3, api.markNoticesRead("1.3.8"));
        NoticePreference ofLikes = api.getNoticePreferences().get("like");
        assertTrue(ofLikes.live && !ofLikes.push);
        assertFalse(api.setNoticePreferences(Collections.singletonMap("like", new NoticePreference(false, true))).get("like").live);
        assertEquals("x", api.getReplies("post:5", "8", "y", 4, true).next);
        assertEquals("z", api.getAnswers("post:5", "8", null, 4, false).next);
        assertEquals(42, api.getComment("post:5", "8", false).user);
        assertEquals(1, api.getCommentAround("post:5", "8", 3, false).around.size());
        api.postComment("post:5", "Hi", "7", "k");
        api.deleteComment("post:5", "8");
        assertEquals(5, api.likeComment("post:5", "8") + api.unlikeComment("post:5", "8"));
        assertTrue(api.pinComment("post:5", "8") && !api.unpinComment("post:5", "8"));
        User user = api.getUser(7);
        assertEquals(Arrays.<Object>asList("ben", 2L, null), Arrays.<Object>asList(user.handle, user.followers, user.posts));
        assertEquals(7, api.getUserByHandle("@b n").user);
        assertEquals("ben", api.setHandle("Ben"));
        api.dropHandle();
        assertTrue(api.follow(7) && !api.unfollow(7) && api.mute(7) && !api.unmute(7));
        assertTrue(api.muteNearby(7) && !api.unmuteNearby(7));
        assertTrue(api.roundFor(7) && !api.exactFor(7));
        People followers = api.getFollowers(7, "2", 5);
        assertEquals(Arrays.asList(3L, 9L), Arrays.asList(followers.items.get(0).user, followers.total));
        assertTrue(followers.toString(), followers.toString().matches("People\\{.*total=9.*") && followers.toString().contains("[User{user=3, "));
        assertTrue(api.follows(7, 4) && !api.follows(7, 4));
        List<User> users = api.getUsers(Arrays.asList(8L, 7L));
        assertEquals(Arrays.<Object>asList(8L, "Ben", "ben", 7L, null), Arrays.<Object>asList(users.get(0).user, users.get(0).name, users.get(0).handle,
                users.get(1).user, users.get(1).handle));
        assertEquals(Arrays.asList(1.5, null), api.request("PUT", "/v1/friends/7?x=1", null).get("a"));
        answer(202, "{}");
        api.reportComment("post:5", "8", "spam");
        answer(202, "{}");
        api.reportPost("5", "spam");
        answer(202, "{}");
        api.reportUser(7, "rude");
        assertEquals(Arrays.asList("GET /v1/posts/5", "DELETE /v1/posts/5", "PUT /v1/posts/5/like", "DELETE /v1/posts/5/like",
                "GET /v1/posts/5/likes?after=3&limit=1", "GET /v1/users/7/posts?from=1&to=2&after=c&limit=3",
                "GET /v1/feed?limit=20", "GET /v1/feed?from=1&to=2&after=c&limit=20", "GET /v1/notices", "PUT /v1/notices/read", "GET /v1/notices/preferences", "PUT /v1/notices/preferences", "GET /v1/comments/post/5/8/replies?liked=true&after=y&limit=4",
                "GET /v1/comments/post/5/8/answers?limit=4", "GET /v1/comments/post/5/8", "GET /v1/comments/post/5/8?around=3", "POST /v1/comments/post/5",
                "DELETE /v1/comments/post/5/8", "PUT /v1/comments/post/5/8/like", "DELETE /v1/comments/post/5/8/like",
                "PUT /v1/comments/post/5/8/pin", "DELETE /v1/comments/post/5/8/pin", "GET /v1/users/7", "GET /v1/handles/b%20n",
                "PUT /v1/handle", "DELETE /v1/handle", "PUT /v1/follows/7", "DELETE /v1/follows/7", "PUT /v1/mutes/7",
                "DELETE /v1/mutes/7", "PUT /v1/nearby/mutes/7", "DELETE /v1/nearby/mutes/7", "PUT /v1/friends/7/rounded",
                "DELETE /v1/friends/7/rounded", "GET /v1/users/7/followers?after=2&limit=5", "GET /v1/users/7/following?after=3&limit=1",
                "GET /v1/users/7/following?after=3&limit=1", "GET /v1/users?ids=8%2C7", "PUT /v1/friends/7?x=1", "POST /v1/comments/post/5/8/report", "POST /v1/posts/5/report", "POST /v1/users/7/report"), asked());
    }

    @Test
    public void placesAreMadeChangedListedAndDeletedAndHaveEvents() throws Exception {
        String home = "{'id':'home','name':'Home','lat':1.5,'lng':2,'radius_m':100,'tell':'friends'}";
        answer(202, "{'id':'home'}");
        answer(200, home);
        answer(200, home.replace("'friends'", "[9223372036854775807,7]"));
        answer(200, home.replace("'friends'", "'me'"));
        answer(200, "{'items':[" + home + ",{'id':'x'}],'next':'home'}");
        answer(200, home);
        answer(204, "");
        answer(200, "{'items':[{'number':3,'place':'home','name':'Home','what':'left','time':9},{}],'next':3}");
        NamedPlace made = api.setPlace("home", "Home", 1.5, 2, 100, PlaceTell.FRIENDS);
        assertEquals(Arrays.<Object>asList("home", "Home", 1.5, 2.0, 100L, PlaceTell.FRIENDS),
                Arrays.<Object>asList(made.id, made.name, made.lat, made.lng, made.radiusM, made.tell));
        assertEquals(PlaceTell.users(Long.MAX_VALUE, 7L), api.setPlace("home", "Home", 1.5, 2, 100, PlaceTell.users(Long.MAX_VALUE, 7L)).tell);
        assertEquals(PlaceTell.ME, api.setPlace("home", "Home", 1.5, 2, 100, PlaceTell.users()).tell);
        Page<NamedPlace> page = api.getPlaces(null, 1);
        assertEquals(Arrays.<Object>asList(1, "home", "home"), Arrays.<Object>asList(page.items.size(), page.items.get(0).id, page.next));
        assertEquals("Home", api.getPlace("home").name);
        api.deletePlace("home");
        Page<PlaceEvent> events = api.getPlaceEvents(1L, 10L, null, null);
        PlaceEvent event = events.items.get(0);
        assertEquals(Arrays.<Object>asList(1, 3L, "home", "Home", "left", 9L), Arrays.<Object>asList(events.items.size(), event.number, event.place, event.name, event.what, event.time));
        assertEquals(Arrays.asList("PUT /v1/places/home", "PUT /v1/places/home", "PUT /v1/places/home", "PUT /v1/places/home", "GET /v1/places?limit=1",
                "GET /v1/places/home", "DELETE /v1/places/home", "GET /v1/places/events?from=1&to=10"), asked());
        String[] told = new String[4];
        for (int i = 0; i < told.length; i++) {
            told[i] = edge.requests.get(i).getBody().readUtf8().replaceAll(".*\"tell\":(.*)}$", "$1");
        }
        assertEquals(Arrays.asList("\"friends\"", "\"friends\"", "[9223372036854775807,7]", "[]"), Arrays.asList(told));
    }

    @Test
    public void linksAreMadeOnceListedReadWithoutATokenAndEnded() throws Exception {
        answer(202, "{'id':'5','url':'/link.html#abc'}");
        answer(200, "{'items':[{'id':'5','until':9,'rounded':true,'made':2}],'next':null}");
        answer(200, "{'name':'Ada','lat':1.5,'lng':2,'time':3,'until':9}");
        answer(200, "{'name':'','lat':null,'lng':null,'time':null,'until':9}");
        answer(410, "{'code':'link_over'}");
        answer(204, "");
        NewLink made = api.createLink(9, true);
        assertEquals(Arrays.asList("5", "/link.html#abc"), Arrays.asList(made.id, made.url));
        Link link = api.getLinks(null, null).items.get(0);
        assertEquals(Arrays.<Object>asList("5", 9L, true, 2L), Arrays.<Object>asList(link.id, link.until, link.rounded, link.made));
        LinkPlace place = api.getLinkPlace("https://x.example/link.html#abc");
        assertEquals(Arrays.<Object>asList("Ada", 1.5, 2.0, 3L, 9L), Arrays.<Object>asList(place.name, place.lat, place.lng, place.time, place.until));
        LinkPlace nowhere = api.getLinkPlace("abc");
        assertTrue(nowhere.lat == null && nowhere.lng == null && nowhere.time == null);
        assertEquals("link_over", assertThrows(ApiException.class, () -> api.getLinkPlace("abc")).code);
        api.endLink("5");
        assertEquals(Arrays.asList("POST /v1/links", "GET /v1/links", "GET /v1/links/abc/place", "GET /v1/links/abc/place",
                "GET /v1/links/abc/place", "DELETE /v1/links/5"), asked());
        assertNull(edge.requests.get(2).getHeader("Authorization"));
    }

    @Test
    public void whatPhonesSayIsWrittenAndRead() throws Exception {
        String said = "'accuracy':12,'battery':0.5,'charging':true,'speed_mps':2,'course':270.5,'activity':'walking','vertical_accuracy_m':3";
        answer(200, "{'accepted':1,'sharing_off':0,'refused':[]}");
        answer(200, "{'items':[{'lat':1,'lng':2,'time':3,'received':4," + said + "},{'lat':1,'lng':2,'time':3,'received':4}],'next':null}");
        answer(200, "{'items':[{'user':7,'lat':1,'lng':2,'time':3,'distance_m':4," + said + "}],'next':null,'time':3}");
        answer(200, "{'mode':'friends','details':true}");
        answer(200, "{'mode':'friends'}");
        Details details = new Details(0.5, true, 2.0, 270.5, "walking", 3.0);
        api.report(Arrays.asList(new Report(1, 2, 3L, 12.0, details)));
        assertEquals(("{'locations':[{'lat':1.0,'lng':2.0,'time':3,'accuracy':12.0,'battery':0.5,'charging':true,'speed_mps':2.0,'course':270.5,"
                + "'activity':'walking','vertical_accuracy_m':3.0}]}").replace('\'', '"'), edge.requests.get(0).getBody().readUtf8());
        List<Place> history = api.getHistory(null, null, null, null).items;
        assertEquals(details.toString(), history.get(0).details.toString());
        assertEquals(Details.NONE.toString(), history.get(1).details.toString());
        NearbyPage.Item friend = api.getNearby(null, null, null).items.get(0);
        assertEquals(12, friend.accuracy, 0);
        assertEquals(details.toString(), friend.details.toString());
        assertTrue(api.setSharing("friends", null, true).details);
        assertFalse(api.setSharing("friends", null, false).details);
        assertEquals("{\"mode\":\"friends\",\"details\":true}", edge.requests.get(3).getBody().readUtf8());
        assertEquals("{\"mode\":\"friends\"}", edge.requests.get(4).getBody().readUtf8());
    }

    @Test
    public void friendsPlacesAndTheAccount() throws Exception {
        String[] said = {"{'items':[{'user':9223372036854775807,'name':'Ada','avatar_url':'a','handle':'ada','state':'friends','since':9},{'user':7,'name':'',"
                + "'state':'requested','since':0},{}],'next':7}", "{'user':8,'state':'requested'}", "{'user':8,'state':'none'}",
            "{'user':8,'state':'blocked','since':6}", "{'user':8,'state':'none'}",
            "{'items':[{'user':7,'name':'Ada','lat':1.5,'lng':2,'time':9,'distance_m':12.5},{'user':8}],'next':null,'time':8}",
            "{'items':[{'user':7,'near':true}],'next':8,'mode':'friends','visible':true}", "{'accepted':2,'sharing_off':1}",
            "{'items':[{'lat':1,'lng':2,'time':3,'accuracy':null,'received':4}],'next':'c'}", "{'user':5,'name':'Me'}",
            "{'user':7,'name':'Ada','bio':'Hi','url':'https://a'}", "{'user':7,'name':'Ada','bio':'Hi','url':'https://a'}",
            "{'user':5,'name':'I'}", "{'mode':'off','until':null}", "{'mode':'public','until':99}",
            "{'kind':'posts','items':[{'id':'1'}],'next':'likes'}", "{'removed':{'posts':3}}", "{'items':[{'user':7}],'next':null}", "{'items':[]}"};
        for (String text : said) {
            answer(200, text);
        }
        Page<Friendship> friends = api.getFriends("all", "3", 2);
        Friendship first = friends.items.get(0);
        assertEquals(Arrays.<Object>asList(Long.MAX_VALUE, "Ada", "a", "ada", "friends", 9L, 2, "7"), Arrays.<Object>asList(first.user,
                first.name, first.avatarUrl, first.handle, first.state, first.since, friends.items.size(), friends.next));
        assertNull(friends.items.get(1).since);
        assertEquals(Arrays.asList("requested", "none", "blocked", "none"), Arrays.asList(api.addFriend(8).state, api.removeFriend(8).state,
                api.block(8).state, api.unblock(8).state));
        NearbyPage near = api.getNearby(8L, null, null);
        assertEquals(Arrays.<Object>asList(1, 12.5, 9L, 8L), Arrays.<Object>asList(near.items.size(), near.items.get(0).distance,
                near.items.get(0).time, near.time));
        Audience audience = api.getAudience("3", null);
        assertTrue(audience.visible && audience.items.get(0).near && audience.mode.equals("friends"));
        Reported reported = api.report(Arrays.asList(new Report(39.98470001, 116, 3L, 5.0), new Report(1, 2)));
        assertEquals(3, reported.accepted + reported.sharingOff);
        assertTrue(edge.requests.get(7).getBody().readUtf8().startsWith(
                "{\"locations\":[{\"lat\":39.9847,\"lng\":116.0,\"time\":3,\"accuracy\":5.0},{\"lat\":1.0,\"lng\":2.0,\"time\":1"));
        Page<Place> history = api.getHistory(1L, 9L, null, 1);
        assertEquals(Arrays.<Object>asList(1.0, 3L, null, 4L, "c"), Arrays.<Object>asList(history.items.get(0).lat, history.items.get(0).time,
                history.items.get(0).accuracy, history.items.get(0).received, history.next));
        assertEquals("Me", api.getProfile().name);
        Profile ada = api.getProfileOf(7);
        User same = api.getUser(7);
        assertEquals(Arrays.asList("Ada", "Hi", "https://a", "Hi", "https://a"), Arrays.asList(ada.name, ada.bio, ada.url, same.bio, same.url));
        assertEquals("I", api.setProfile("I", null, "B", null).name);
        assertTrue(edge.requests.get(12).getBody().readUtf8().contains("\"bio\":\"B\""));
        assertNull(api.getSharing().until);
        assertEquals(99, (long) api.setSharing("public", 99L).until);
        ExportPage page = api.getExport("posts", 5);
        assertEquals(Arrays.<Object>asList("posts", "1", "likes"), Arrays.<Object>asList(page.kind, page.items.get(0).get("id"), page.next));
        assertEquals(3L, api.forgetMe().get("posts"));
        assertTrue(api.mutesNearby(7) && !api.mutesNearby(0));
        assertEquals(Arrays.asList("GET /v1/friends?state=all&after=3&limit=2", "PUT /v1/friends/8", "DELETE /v1/friends/8", "PUT /v1/blocks/8",
                "DELETE /v1/blocks/8", "GET /v1/nearby?since=8", "GET /v1/audience?after=3", "POST /v1/locations",
                "GET /v1/history?from=1&to=9&limit=1", "GET /v1/profile", "GET /v1/profiles/7", "GET /v1/users/7", "PUT /v1/profile", "GET /v1/sharing",
                "PUT /v1/sharing", "GET /v1/export?after=posts&limit=5", "DELETE /v1/me", "GET /v1/nearby/mutes?after=6&limit=1",
                "GET /v1/nearby/mutes?limit=1"), asked());
        assertEquals("not a position: lat is 91.0, and must be from -90 to 90",
                assertThrows(InvalidPosition.class, () -> new Report(91, 0)).getMessage());
        answer(200, "{}");
        assertEquals("bad_answer", assertThrows(ApiException.class, () -> api.getSharing()).code);
        answer(403, "{'code':'sharing_off'}");
        assertEquals("sharing_off", assertThrows(ApiException.Forbidden.class, () -> api.report(Arrays.asList(new Report(1, 2)))).code);
    }
}
