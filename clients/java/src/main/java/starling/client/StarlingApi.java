package starling.client;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okio.ByteString;

/**
 * starling's HTTP API: everything that users do but live lists.
 *
 * <pre>
 * StarlingApi api = new StarlingApi(new OkHttpClient(), "http://localhost:8080", () -&gt; accounts.token());
 * Post post = api.createPost("Good morning");
 * </pre>
 *
 * Each call waits for its answer, so it belongs on a thread that may wait; any number of threads may call. Writes are repeated until
 * they are decided: doing them again changes nothing, as posts and comments carry a key. A subject of comments is as post:123; what is
 * none makes an IllegalArgumentException. In lists, `after` is the `next` of the page before, and null stands for the first page and
 * for the server's limit.
 */
public final class StarlingApi {
    /** Writes, and questions for a next page, are repeated for so long while the server cannot, or has not decided; unless told otherwise. */
    public static final long PATIENCE_MS = 30_000;

    private static final Pattern SUBJECT = Pattern.compile("([a-z0-9_-]{1,32}):([A-Za-z0-9._~-]{1,128})");

    private final Requests requests;

    /** Throws IllegalArgumentException if the address is none. */
    public StarlingApi(OkHttpClient http, String url, String token) {
        this(http, url, Tokens.of(token), PATIENCE_MS);
    }

    /** Throws IllegalArgumentException if the address is none. */
    public StarlingApi(OkHttpClient http, String url, TokenFunction token) {
        this(http, url, Tokens.of(token), PATIENCE_MS);
    }

    /** patienceMs: writes are repeated for so long. Throws IllegalArgumentException if the address is none. */
    public StarlingApi(OkHttpClient http, String url, TokenFunction token, long patienceMs) {
        this(http, url, Tokens.of(token), patienceMs);
    }

    private StarlingApi(OkHttpClient http, String url, Tokens tokens, long patienceMs) {
        requests = new Requests(http, url, tokens, patienceMs);
    }

    /** A newer token of the same user. */
    public void renew(String token) {
        requests.renew(Tokens.of(token));
    }

    /** Returns a new idempotency key. */
    public static String drawKey() {
        byte[] bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        return ByteString.of(bytes).hex();
    }

    // posts

    public Post createPost(String text) throws ApiException {
        return createPost(text, null, drawKey());
    }

    /** media: addresses, or null. The same key again is the same post: keep it where a failed call may be repeated later. */
    public Post createPost(String text, List<String> media, String key) throws ApiException {
        List<String> some = media == null || media.isEmpty() ? null : media;
        Map<String, Object> body = Json.object("text", text, "key", key, "media", some);
        return whole(Post.read(decided("POST", body, "posts")));
    }

    public Post getPost(String post) throws ApiException {
        return whole(Post.read(get(requests.path("posts", post))));
    }

    /** Its author and moderators may. version: that was read; Conflict: somebody has edited it since, or 99 times. */
    public Post editPost(String post, String text, long version) throws ApiException {
        return editPost(post, text, version, null);
    }

    /** reason: a moderator's, or null. */
    public Post editPost(String post, String text, long version, String reason) throws ApiException {
        Map<String, Object> body = Json.object("text", text, "version", version, "reason", reason);
        return whole(Post.read(decided("PUT", body, "posts", post)));
    }

    /** A page of all versions of its text, the newest first. */
    public Page<Edit> getPostEdits(String post, String after, Integer limit) throws ApiException {
        return list(requests.path("posts", post, "edits"), after, limit, Edit::readAll);
    }

    public void deletePost(String post) throws ApiException {
        decided("DELETE", null, "posts", post);
    }

    /** Returns how many like it now. */
    public long likePost(String post) throws ApiException {
        return Json.asLong(decided("PUT", null, "posts", post, "like").get("likes"), 0);
    }

    /** Returns how many like it now. */
    public long unlikePost(String post) throws ApiException {
        return Json.asLong(decided("DELETE", null, "posts", post, "like").get("likes"), 0);
    }

    /** Who likes a post, by user id, rising. Whom I have blocked is left out. */
    public Page<User> getLikes(String post, String after, Integer limit) throws ApiException {
        return list(requests.path("posts", post, "likes"), after, limit, User::readAll);
    }

    /** A page of a user's posts, newest first. fromMs, toMs: null: of any time. */
    public Page<Post> getPosts(long user, Long fromMs, Long toMs, String after, Integer limit) throws ApiException {
        HttpUrl.Builder url = requests.path("users", Long.toString(user), "posts");
        return list(Requests.with(Requests.with(url, "from", fromMs), "to", toMs), after, limit, Post::readAll);
    }

    /** A page of my home timeline, newest first. */
    public FeedPage getFeed(String after, Integer limit) throws ApiException {
        return getFeed(null, null, after, limit);
    }

    /** The same of its posts from one time (inclusive) to another (exclusive), in ms since the epoch, or null. */
    public FeedPage getFeed(Long fromMs, Long toMs, String after, Integer limit) throws ApiException {
        HttpUrl.Builder url = Requests.with(Requests.with(requests.path("feed"), "from", fromMs), "to", toMs);
        return page(url, after, limit, FeedPage::new);
    }

    /** The newest page of my notices. */
    public NoticePage getNotices() throws ApiException {
        return getNotices(null, null);
    }

    /** A page of my notices, newest first. The server keeps 200. */
    public NoticePage getNotices(String after, Integer limit) throws ApiException {
        return page(requests.path("notices"), after, limit, NoticePage::new);
    }

    /** All up to that notice are read, on all devices. Returns how many are unread now. */
    public long markNoticesRead(String until) throws ApiException {
        return Json.asLong(decided("PUT", Json.object("until", until), "notices", "read").get("unread"), 0);
    }

    /** How I am told of each kind (`what` of notices). */
    public Map<String, NoticePreference> getNoticePreferences() throws ApiException {
        return NoticePreference.readAll(get(requests.path("notices", "preferences")));
    }

    /** Kinds that are not named stay as they are. Returns what holds now. */
    public Map<String, NoticePreference> setNoticePreferences(Map<String, NoticePreference> preferences) throws ApiException {
        return NoticePreference.readAll(decided("PUT", NoticePreference.write(preferences), "notices", "preferences"));
    }

    /** A page of strangers nearby, nearest first. Only who shares with everybody may ask: else ApiException.Forbidden, not_public. */
    public Strangers getStrangers(String after, Integer limit) throws ApiException {
        return page(requests.path("discover"), after, limit, answer -> whole(Strangers.read(answer)));
    }

    // comments

    public CommentPage getComments(String subject) throws ApiException {
        return getComments(subject, new CommentsQuery());
    }

    /** A page of roots with their first replies. Null: the page of the same query is still that of its ETag. */
    public CommentPage getComments(String subject, CommentsQuery query) throws ApiException {
        HttpUrl.Builder url = comments(subject);
        Requests.with(url, "sort", query.sort == null ? null : query.sort.name().toLowerCase(Locale.ROOT));
        Requests.with(url, "replies", query.replies);
        HttpUrl asked = paged(likedIf(url, query.liked), query.after, query.limit).build();
        Requests.Answer answer = requests.exchange("GET", asked, null, query.etag);
        if (answer.status == 304) {
            return null;
        }
        return linked(new CommentPage(answer.json, answer.etag), asked, json -> new CommentPage(json, null));
    }

    /** The replies of a root, the oldest first. liked: says which ones I like. */
    public Page<Comment> getReplies(String subject, String root, String after, Integer limit, boolean liked) throws ApiException {
        return list(likedIf(comments(subject, root, "replies"), liked), after, limit, Comment::readAll);
    }

    /** The replies that answer a reply, the oldest first; of a root, all its replies. liked: says which ones I like. */
    public Page<Comment> getAnswers(String subject, String comment, String after, Integer limit, boolean liked) throws ApiException {
        return list(likedIf(comments(subject, comment, "answers"), liked), after, limit, Comment::readAll);
    }

    public Comment getComment(String subject, String comment, boolean liked) throws ApiException {
        return whole(Comment.read(get(likedIf(comments(subject, comment), liked))));
    }

    /** A comment with so many neighbours on each side. */
    public CommentAround getCommentAround(String subject, String comment, int around, boolean liked) throws ApiException {
        HttpUrl.Builder url = Requests.with(comments(subject, comment), "around", around);
        Map<String, Object> answer = get(likedIf(url, liked));
        return new CommentAround(whole(Comment.read(answer.get("item"))), Comment.read(answer.get("root")),
                Comment.readAll(answer.get("around")));
    }

    public Comment postComment(String subject, String text) throws ApiException {
        return postComment(subject, text, null, drawKey());
    }

    /** replyTo: the comment that it answers, or null. The same key again is the same comment. */
    public Comment postComment(String subject, String text, String replyTo, String key) throws ApiException {
        Map<String, Object> body = Json.object("text", text, "key", key, "reply_to", replyTo);
        return whole(Comment.read(requests.decided("POST", comments(subject).build(), body)));
    }

    /** As editPost. */
    public Comment editComment(String subject, String comment, String text, long version) throws ApiException {
        return editComment(subject, comment, text, version, null);
    }

    /** reason: a moderator's, or null. */
    public Comment editComment(String subject, String comment, String text, long version, String reason) throws ApiException {
        Map<String, Object> body = Json.object("text", text, "version", version, "reason", reason);
        return whole(Comment.read(requests.decided("PUT", comments(subject, comment).build(), body)));
    }

    /** As getPostEdits. */
    public Page<Edit> getCommentEdits(String subject, String comment, String after, Integer limit) throws ApiException {
        return list(comments(subject, comment, "edits"), after, limit, Edit::readAll);
    }

    /** Its author, the subject's owner and moderators may. It keeps its floor and its replies, and loses its text. */
    public void deleteComment(String subject, String comment) throws ApiException {
        requests.decided("DELETE", comments(subject, comment).build(), null);
    }

    /** Returns how many like it now. */
    public long likeComment(String subject, String comment) throws ApiException {
        return Json.asLong(ofComment("PUT", subject, comment, "like").get("likes"), 0);
    }

    /** Returns how many like it now. */
    public long unlikeComment(String subject, String comment) throws ApiException {
        return Json.asLong(ofComment("DELETE", subject, comment, "like").get("likes"), 0);
    }

    /** Returns whether it is pinned now. The subject's owner may. */
    public boolean pinComment(String subject, String comment) throws ApiException {
        return Boolean.TRUE.equals(ofComment("PUT", subject, comment, "pin").get("pinned"));
    }

    /** Returns whether it is pinned now. */
    public boolean unpinComment(String subject, String comment) throws ApiException {
        return Boolean.TRUE.equals(ofComment("DELETE", subject, comment, "pin").get("pinned"));
    }

    /** Tells the moderators. reason: 1 to 1000 code points. A report is safe as soon as it is answered 202. */
    public void reportComment(String subject, String comment, String reason) throws ApiException {
        report(comments(subject, comment), reason);
    }

    /** As reportComment; so is reportUser. */
    public void reportPost(String post, String reason) throws ApiException {
        report(requests.path("posts", post), reason);
    }

    public void reportUser(long user, String reason) throws ApiException {
        report(requests.path("users", Long.toString(user)), reason);
    }

    private void report(HttpUrl.Builder of, String reason) throws ApiException {
        requests.repeated("POST", of.addPathSegment("report").build(), Json.object("reason", reason), false);
    }

    /** The comments of a user, the newest first: only my own. */
    public Page<OwnComment> getCommentsOf(long user, String after, Integer limit) throws ApiException {
        return list(requests.path("users", Long.toString(user), "comments"), after, limit, OwnComment::readOwn);
    }

    // my friends, and where we are

    /** A page of my friends (state null), or those of another state (requested, invited, blocked, all), with names; by user id, rising. */
    public Page<Friendship> getFriends(String state, String after, Integer limit) throws ApiException {
        return list(Requests.with(requests.path("friends"), "state", state), after, limit, Friendship::readAll);
    }

    /** Asks for a friendship (requested), or accepts one (friends). */
    public Friendship addFriend(long user) throws ApiException {
        return whole(Friendship.read(decided("PUT", null, "friends", Long.toString(user))));
    }

    /** Ends a friendship, refuses an invitation, or takes a request back. */
    public Friendship removeFriend(long user) throws ApiException {
        return whole(Friendship.read(decided("DELETE", null, "friends", Long.toString(user))));
    }

    /** Ends what there was, and prevents it from then on. The other one is not told. */
    public Friendship block(long user) throws ApiException {
        return whole(Friendship.read(decided("PUT", null, "blocks", Long.toString(user))));
    }

    public Friendship unblock(long user) throws ApiException {
        return whole(Friendship.read(decided("DELETE", null, "blocks", Long.toString(user))));
    }

    /** A page of the friends near my last report, nearest first. sinceMs: only if there is a report of that time or a later one; or null. */
    public NearbyPage getNearby(Long sinceMs, String after, Integer limit) throws ApiException {
        return page(Requests.with(requests.path("nearby"), "since", sinceMs), after, limit, NearbyPage::new);
    }

    /** A page of the friends who can see me now; by user id, rising. */
    public Audience getAudience(String after, Integer limit) throws ApiException {
        return page(requests.path("audience"), after, limit, Audience::new);
    }

    /**
     * A link that shows where I am until then (ms since the epoch), within 31 days; it ends with endLink, and when I stop sharing. Each call
     * makes another one. ApiException.Conflict, not_sharing or links_limit.
     */
    public NewLink createLink(long until, boolean rounded) throws ApiException {
        return whole(NewLink.read(requests.repeated("POST", requests.path("links").build(), Json.object("until", until, "rounded", rounded), false)));
    }

    /** A page of those that have not ended. */
    public Page<Link> getLinks(String after, Integer limit) throws ApiException {
        return list(requests.path("links"), after, limit, Link::readAll);
    }

    public void endLink(String link) throws ApiException {
        decided("DELETE", null, "links", link);
    }

    /** What a link shows; no token is asked for. link: its url, or what stands behind the #. ApiException with link_over: it has ended. */
    public LinkPlace getLinkPlace(String link) throws ApiException {
        HttpUrl url = requests.path("links", link.substring(link.indexOf('#') + 1), "place").build();
        return whole(LinkPlace.read(requests.anonymously(url).json));
    }

    /** A page of my places. */
    public Page<NamedPlace> getPlaces(String after, Integer limit) throws ApiException {
        return list(requests.path("places"), after, limit, NamedPlace::readAll);
    }

    public NamedPlace getPlace(String id) throws ApiException {
        return whole(NamedPlace.read(get(requests.path("places", id))));
    }

    /**
     * Makes a place, or changes it. id: chosen by the app, 1 to 32 of A-Z, a-z, 0-9, - and _, not `events`. radiusM: 50 to 50,000.
     * ApiException.Conflict, places_limit: I have 50.
     */
    public NamedPlace setPlace(String id, String name, double lat, double lng, long radiusM, PlaceTell tell) throws ApiException {
        Map<String, Object> body = Json.object("name", name, "lat", lat, "lng", lng, "radius_m", radiusM, "tell", tell.write());
        return whole(NamedPlace.read(decided("PUT", body, "places", id)));
    }

    public void deletePlace(String id) throws ApiException {
        decided("DELETE", null, "places", id);
    }

    /** A page of my arrivals and departures, from the oldest on; from (inclusive) and to (exclusive) in ms since the epoch, or null. */
    public Page<PlaceEvent> getPlaceEvents(Long fromMs, Long toMs, String after, Integer limit) throws ApiException {
        HttpUrl.Builder url = Requests.with(Requests.with(requests.path("places", "events"), "from", fromMs), "to", toMs);
        return list(url, after, limit, PlaceEvent::readAll);
    }

    /**
     * Where I am, or was: for programs without a connection. Up to 1000 at once, in any order. The same one again moves nobody, and
     * getHistory shows it once. What the server refuses of several is left out. ApiException.Forbidden, sharing_off: I share with nobody.
     */
    public Reported report(List<Report> reports) throws ApiException {
        long now = System.currentTimeMillis();
        List<Report> left = new ArrayList<>(reports);
        List<Report> refused = new ArrayList<>();
        List<Object> locations = new ArrayList<>();
        for (Report one : left) {
            locations.add(one.write(now));
        }
        while (true) {
            try {
                return new Reported(decided("POST", Json.object("locations", locations), "locations"), refused);
            } catch (ApiException.BadRequest error) {
                int index = (int) Json.asLong(error.problem.get("index"), -1);
                if (left.size() < 2 || index < 0 || index >= left.size()) {
                    throw error;
                }
                locations.remove(index); // one bad fix must not keep the others from being taken
                refused.add(left.remove(index));
            }
        }
    }

    /** A page of where I was, by time, rising; from (inclusive) and to (exclusive) in ms since the epoch, or null. limit: 1 to 10000. */
    public Page<Place> getHistory(Long fromMs, Long toMs, String after, Integer limit) throws ApiException {
        HttpUrl.Builder url = Requests.with(Requests.with(requests.path("history"), "from", fromMs), "to", toMs);
        return list(url, after, limit, Place::readAll);
    }

    // me

    /** ApiException.NotFound, no_profile: I have none. */
    public Profile getProfile() throws ApiException {
        return profile(get(requests.path("profile")));
    }

    public Profile getProfileOf(long user) throws ApiException {
        return profile(get(requests.path("profiles", Long.toString(user))));
    }

    /** avatarUrl: null: none. There is neither a bio nor a URL any more. */
    public Profile setProfile(String name, String avatarUrl) throws ApiException {
        return setProfile(name, avatarUrl, null, null);
    }

    /** avatarUrl, bio (500 code points at most), url: null: none. */
    public Profile setProfile(String name, String avatarUrl, String bio, String url) throws ApiException {
        return profile(decided("PUT", Json.object("name", name, "avatar_url", avatarUrl, "bio", bio, "url", url), "profile"));
    }

    public Sharing getSharing() throws ApiException {
        return whole(Sharing.read(get(requests.path("sharing"))));
    }

    /** mode: off, friends or public. until: when it ends by itself, ms since the epoch; null: it does not. */
    public Sharing setSharing(String mode, Long until) throws ApiException {
        return setSharing(mode, until, false);
    }

    /** The same. details: friends who see the exact place are told accuracy and details, too. */
    public Sharing setSharing(String mode, Long until, boolean details) throws ApiException {
        Map<String, Object> choice = Json.object("mode", mode, "until", until, "details", details ? true : null);
        return whole(Sharing.read(decided("PUT", choice, "sharing")));
    }

    /** Where I am signed in, newest first. session: of my own welcome, or null; that one is `current`. */
    public List<Device> getDevices(String session) throws ApiException {
        return Device.readAll(get(Requests.with(requests.path("devices"), "session", session)).get("items"));
    }

    /** Ends that session (`id`): its client is closed for the reason ELSEWHERE. ApiException.NotFound: I have none of that id. */
    public void endDevice(String id) throws ApiException {
        decided("DELETE", null, "devices", id);
    }

    /** A page of everything that is kept of me. Each page is of one kind. */
    public ExportPage getExport(String after, Integer limit) throws ApiException {
        return page(requests.path("export"), after, limit, ExportPage::new);
    }

    /** Removes everything that is kept of me: returns how many of each kind went. May be repeated after an Undecided. */
    public Map<String, Object> forgetMe() throws ApiException {
        return whole(Json.asObject(decided("DELETE", null, "me").get("removed")));
    }

    // people

    public User getUser(long user) throws ApiException {
        return user(get(requests.path("users", Long.toString(user))));
    }

    /** Profiles and handles of 1 to 100 users, in this order. */
    public List<User> getUsers(Collection<Long> users) throws ApiException {
        return User.readAll(get(Requests.with(requests.path("users"), "ids", withCommas(users))).get("items"));
    }

    /** My id, also where the sign-in provider knows me by a text. */
    public long getMe() throws ApiException {
        return Json.asLong(get(requests.path("me")).get("user"), -1);
    }

    /** The texts by which the sign-in provider knows 1 to 100 users, without those who have none. */
    public Map<Long, String> getExternals(Collection<Long> users) throws ApiException {
        Map<Long, String> externals = new LinkedHashMap<>();
        for (Map<String, Object> item : signedIn("users", users)) {
            externals.put(Json.asLong(item.get("user"), -1), Json.asText(item.get("external")));
        }
        return externals;
    }

    /** The ids of 1 to 100 users by such texts, without those who have not signed in yet. No text has a comma. */
    public Map<String, Long> getUsersByExternals(Collection<String> externals) throws ApiException {
        Map<String, Long> users = new LinkedHashMap<>();
        for (Map<String, Object> item : signedIn("externals", externals)) {
            users.put(Json.asText(item.get("external")), Json.asLong(item.get("user"), -1));
        }
        return users;
    }

    private List<Map<String, Object>> signedIn(String name, Collection<?> values) throws ApiException {
        List<Map<String, Object>> items = new ArrayList<>();
        for (Object item : Json.asList(get(Requests.with(requests.path("externals"), name, withCommas(values))).get("users"))) {
            items.add(Json.asObject(item));
        }
        return items;
    }

    private static String withCommas(Collection<?> values) {
        StringBuilder text = new StringBuilder();
        for (Object value : values) {
            text.append(text.length() == 0 ? "" : ",").append(value);
        }
        return text.toString();
    }

    /** With or without an @ in front; capital letters count as small ones. */
    public User getUserByHandle(String handle) throws ApiException {
        return user(get(requests.path("handles", handle.startsWith("@") ? handle.substring(1) : handle)));
    }

    /** Chooses my handle: returns it as it counts. ApiException.Conflict, handle_taken: somebody else has it. */
    public String setHandle(String handle) throws ApiException {
        return whole(Json.asText(decided("PUT", Json.object("handle", handle), "handle").get("handle")));
    }

    public void dropHandle() throws ApiException {
        decided("DELETE", null, "handle");
    }

    /** Returns whether I follow now. False: I have asked to, as only followers see the posts of this user. */
    public boolean follow(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("PUT", null, "follows", Long.toString(user)).get("following"));
    }

    /** Takes a request back, too. Returns whether I follow now. */
    public boolean unfollow(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("DELETE", null, "follows", Long.toString(user)).get("following"));
    }

    /** Whom I have asked to follow, by user id, rising. */
    public People getMyRequests(String after, Integer limit) throws ApiException {
        return page(requests.path("follows", "requests"), after, limit, People::new);
    }

    /** The users who have asked to follow me, by user id, rising. */
    public People getFollowRequests(String after, Integer limit) throws ApiException {
        return page(requests.path("followers", "requests"), after, limit, People::new);
    }

    /** Returns whether the user follows me now. ApiException.NotFound, no_request: the user has not asked. */
    public boolean acceptFollower(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("PUT", null, "followers", Long.toString(user)).get("follower"));
    }

    /** Declines a request, or removes a follower. */
    public void removeFollower(long user) throws ApiException {
        decided("DELETE", null, "followers", Long.toString(user));
    }

    /** Says who sees my posts: everybody or followers. */
    public String getVisibility() throws ApiException {
        return Json.asText(get(requests.path("visibility")).get("posts"));
    }

    /** everybody accepts all requests. Returns what holds now. */
    public String setVisibility(String posts) throws ApiException {
        return Json.asText(decided("PUT", Json.object("posts", posts), "visibility").get("posts"));
    }

    /** Returns whether I mute now. */
    public boolean mute(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("PUT", null, "mutes", Long.toString(user)).get("muted"));
    }

    /** Returns whether I mute now. */
    public boolean unmute(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("DELETE", null, "mutes", Long.toString(user)).get("muted"));
    }

    /** Leaves a friend out of my list of near friends, on all my devices. Returns whether the friend is left out now. */
    public boolean muteNearby(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("PUT", null, "nearby", "mutes", Long.toString(user)).get("muted"));
    }

    /** Returns whether the friend is left out now. */
    public boolean unmuteNearby(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("DELETE", null, "nearby", "mutes", Long.toString(user)).get("muted"));
    }

    /** Whom I leave out of my list of near friends, by user id, rising: without names. */
    public Page<User> getNearbyMutes(String after, Integer limit) throws ApiException {
        return list(requests.path("nearby", "mutes"), after, limit, User::readAll);
    }

    /** Whether I leave the user out of my list of near friends. */
    public boolean mutesNearby(long user) throws ApiException {
        return lists(getNearbyMutes(before(user), 1), user);
    }

    /**
     * Lets a friend, or somebody with whom there is a request, see only about where I am: the centre of a cell, and a distance to there.
     * Returns whether that is so now. ApiException.Conflict, not_friends: there is neither.
     */
    public boolean roundFor(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("PUT", null, "friends", Long.toString(user), "rounded").get("rounded"));
    }

    /** Returns whether the friend sees only about where I am now. */
    public boolean exactFor(long user) throws ApiException {
        return Boolean.TRUE.equals(decided("DELETE", null, "friends", Long.toString(user), "rounded").get("rounded"));
    }

    /** By user id, rising. */
    public People getFollowers(long user, String after, Integer limit) throws ApiException {
        return page(requests.path("users", Long.toString(user), "followers"), after, limit, People::new);
    }

    /** Of those whom I follow, who follow the user: a page is of 400 whom I follow, or of limit, and may be empty with a next. */
    public Page<User> getKnownFollowers(long user, String after, Integer limit) throws ApiException {
        return list(requests.path("users", Long.toString(user), "followers", "known"), after, limit, User::readAll);
    }

    /** My friends who are also friends of the user: nobody while one of us blocks the other. ApiException same_user: the user is me. */
    public People getMutualFriends(long user, String after, Integer limit) throws ApiException {
        return page(requests.path("users", Long.toString(user), "mutual-friends"), after, limit, People::new);
    }

    /** By user id, rising. */
    public People getFollowing(long user, String after, Integer limit) throws ApiException {
        return page(requests.path("users", Long.toString(user), "following"), after, limit, People::new);
    }

    /** Whether the user follows the other one. */
    public boolean follows(long user, long other) throws ApiException {
        return lists(getFollowing(user, before(other), 1), other);
    }

    /**
     * The page after one of a list, null after the last. Asked for again while the server is away.
     *
     * <pre>
     * for (Page&lt;Friendship&gt; page = api.getFriends(null, null, null); page != null; page = api.pageAfter(page)) show(page.items);
     * </pre>
     */
    public <T> Page<T> pageAfter(Page<T> page) throws ApiException {
        if (page.more == null) {
            throw new IllegalArgumentException("not a page that was asked for over HTTP");
        }
        return page.next == null ? null : page.more.ask();
    }

    /**
     * Any other request, such as GET of /v1/config: returns the JSON of the answer as maps, lists, strings, Longs, Doubles, Booleans
     * and null, an empty map where there is none. path: with its query, from /v1 on. body: of the same things; null: none.
     */
    public Map<String, Object> request(String method, String path, Map<String, ?> body) throws ApiException {
        HttpUrl base = requests.path().build();
        HttpUrl url = HttpUrl.get(base.toString().substring(0, base.toString().length() - "/v1".length()) + path);
        return requests.exchange(method, url, body, null).json;
    }

    // small things

    static boolean isSubject(String subject) {
        Matcher parts = SUBJECT.matcher(subject);
        return parts.matches() && !parts.group(2).equals(".") && !parts.group(2).equals("..");
    }

    private HttpUrl.Builder comments(String subject, String... more) {
        if (!isSubject(subject)) {
            throw new IllegalArgumentException("not a subject: " + subject);
        }
        int colon = subject.indexOf(':');
        return Requests.with(requests.path("comments", subject.substring(0, colon), subject.substring(colon + 1)), more);
    }

    /** Makes a page of an answer. */
    private interface Reader<P> {
        P read(Map<String, Object> answer) throws ApiException;
    }

    /** Makes the items of a page. */
    private interface Items<T> {
        List<T> read(Object items);
    }

    private <T, P extends Page<T>> P page(HttpUrl.Builder url, String after, Integer limit, Reader<P> read) throws ApiException {
        HttpUrl asked = paged(url, after, limit).build();
        return linked(read.read(requests.exchange("GET", asked, null, null).json), asked, read);
    }

    /** Tells a page how the one after it is asked for. */
    private <T, P extends Page<T>> P linked(P page, HttpUrl asked, Reader<P> read) {
        page.more = () -> {
            HttpUrl url = asked.newBuilder().setQueryParameter("after", page.next).build();
            return linked(read.read(requests.repeated("GET", url, null, false)), url, read);
        };
        return page;
    }

    private <T> Page<T> list(HttpUrl.Builder url, String after, Integer limit, Items<T> read) throws ApiException {
        return page(url, after, limit, answer -> new Page<>(read.read(answer.get("items")), answer.get("next")));
    }

    private static HttpUrl.Builder likedIf(HttpUrl.Builder url, boolean liked) {
        return Requests.with(url, "liked", liked ? "true" : null);
    }

    private static HttpUrl.Builder paged(HttpUrl.Builder url, String after, Integer limit) {
        return Requests.with(Requests.with(url, "after", after), "limit", limit);
    }

    private Map<String, Object> get(HttpUrl.Builder url) throws ApiException {
        return requests.exchange("GET", url.build(), null, null).json;
    }

    private Map<String, Object> decided(String method, Map<String, ?> body, String... path) throws ApiException {
        return requests.decided(method, requests.path(path).build(), body);
    }

    private Map<String, Object> ofComment(String method, String subject, String comment, String what) throws ApiException {
        return requests.decided(method, comments(subject, comment, what).build(), null);
    }

    /** The cursor in front of a user in lists by user id. */
    private static String before(long user) {
        return user > 0 ? Long.toString(user - 1) : null;
    }

    private static boolean lists(Page<User> page, long user) {
        return !page.items.isEmpty() && page.items.get(0).user == user;
    }

    private static Profile profile(Map<String, Object> answer) throws ApiException {
        return Profile.isOne(answer) ? new Profile(answer) : StarlingApi.<Profile>whole(null);
    }

    private static User user(Map<String, Object> answer) throws ApiException {
        return answer.get("user") instanceof Long ? new User(answer) : StarlingApi.<User>whole(null);
    }

    private static <T> T whole(T item) throws ApiException {
        if (item == null) {
            throw Requests.badAnswer();
        }
        return item;
    }
}
