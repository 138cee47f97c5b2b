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
import java.util.Map;
import java.util.Random;
import okio.ByteString;
import org.junit.Test;

/** The parts that need no network. */
public final class PartsTest {
    @Test
    public void jsonKeepsWholeNumbersWhole() throws Exception {
        Map<String, Object> read = Json.readObject("{\"a\":9007199254740993,\"b\":1.5,\"c\":[true,null,\"x\"],\"d\":1e3,\"e\":99999999999999999999}");
        assertEquals(9007199254740993L, read.get("a"));
        assertEquals(1.5, read.get("b"));
        assertEquals(Arrays.asList(true, null, "x"), read.get("c"));
        assertEquals(1000.0, read.get("d"));
        assertEquals(1e20, read.get("e"));
        assertEquals("{\"a\":9007199254740993,\"b\":1.5,\"c\":[true,null,\"x\"],\"d\":1000.0,\"e\":1.0E20}", Json.write(read));
        for (String wrong : new String[] {"", "[]", "{} {}", "{a:1}", "{'a':1}", "{\"a\":NaN}", "{\"a\":1,}"}) {
            assertThrows(wrong, IOException.class, () -> Json.readObject(wrong));
        }
        StringBuilder deep = new StringBuilder();
        for (int i = 0; i < 100_000; i++) {
            deep.append('[');
        }
        assertThrows(IOException.class, () -> Json.read(deep.toString()));
    }

    @Test
    public void tokensAreRenewedBeforeTheirEnd() {
        String token = "x." + ByteString.encodeUtf8("{\"exp\":1000}").base64Url().replace("=", "") + ".x";
        assertEquals(1_000_000.0, Tokens.expiryOf(token), 0);
        for (String none : new String[] {"", "x", "a.b.c", "a.e30.c", "a.*.c"}) {
            assertNull(none, Tokens.expiryOf(none));
        }
        Tokens function = Tokens.of(() -> token);
        assertEquals(900_000 - 60_000, (long) function.renewIn(token, 100_000));
        assertEquals(8_000, (long) function.renewIn(token, 990_000));
        assertEquals(1_000, (long) function.renewIn(token, 2_000_000));
        assertNull(Tokens.of(token).renewIn(token, 0));
        assertTrue(function.refused() && !function.refused());
        function.trust();
        assertTrue(function.refused());
        assertFalse(Tokens.of(token).refused());
        assertThrows(IllegalArgumentException.class, () -> Tokens.of((String) null));
        assertThrows(IOException.class, () -> Tokens.of(() -> null).get());
    }

    @Test
    public void pausesFillTheirWindows() {
        Random random = new Random(1);
        long[] windows = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
        for (int failures = 0; failures < windows.length; failures++) {
            long least = Long.MAX_VALUE;
            long most = 0;
            for (int i = 0; i < 1000; i++) {
                long pause = Backoff.pause(failures, random, 0);
                least = Math.min(least, pause);
                most = Math.max(most, pause);
            }
            assertTrue(least >= 100 && least < Math.max(110, windows[failures] / 20));
            assertTrue(most <= windows[failures] && most > windows[failures] * 0.9);
        }
        assertTrue(Backoff.pause(1000, random, 5000) >= 5000);
        long directed = Backoff.directed(1000, random);
        assertTrue(directed >= 1000 && directed <= 1100);
    }

    @Test
    public void distancesAreThoseOfTheServer() {
        assertEquals(111_195.08, Geo.distance(0, 0, 1, 0), 0.01);
        assertEquals(Math.PI * Geo.EARTH_RADIUS_M, Geo.distance(0, 0, 0, 180), 0.01);
        assertEquals(0, Geo.distance(39.9847, 116.3184, 39.9847, 116.3184), 0);
        assertEquals(39.9847001, Geo.round(39.98470009), 0);
    }

    private static Map<String, Object> frame(String text) throws IOException {
        return Frames.read(text.replace('\'', '"'));
    }

    private static String at(long user, double lat) {
        return "{'user':" + user + ",'lat':" + lat + ",'lng':0,'time':1000}";
    }

    @Test
    public void friendsWhomAMoveTakesOutsideComeBack() throws Exception {
        NearbyList list = new NearbyList();
        list.place(0, 0);
        list.configure(8046.72, 600_000, 120_000);
        list.restart(frame("{'type':'nearby','total':2,'items':[" + at(1, 0.01) + "," + at(2, -0.01) + "],'next':null}"), 1000);
        list.place(0.08, 0);
        assertEquals(1, list.total());
        list.place(0, 0);
        assertEquals(2, list.total());
        List<Long> gone = new ArrayList<>();
        assertEquals(121_000, list.nextExpiry(), 0);
        assertTrue(list.expire(121_000, gone));
        assertTrue(gone.isEmpty() && list.known().get(0).stale);
        assertFalse(list.expire(601_000, gone));
        assertEquals(2, gone.size());
        assertEquals(0, list.total());
    }

    @Test
    public void aServerThatGoesInCirclesIsNotAskedForEver() throws Exception {
        NearbyList list = new NearbyList();
        list.restart(frame("{'type':'nearby','total':9,'items':[" + at(1, 0.01) + "],'next':'c'}"), 1000);
        assertEquals(9, list.total());
        assertEquals("c", list.nextRequest(false));
        assertNull(list.nextRequest(false)); // asked already
        list.page(frame("{'type':'nearby','total':9,'items':[" + at(2, 0.01) + "],'next':'c'}"), 1000);
        assertTrue(list.isComplete());
        assertEquals(2, list.total());
    }

    @Test
    public void aNewConnectionAsksForAsMuchAsWasKnown() throws Exception {
        NearbyList list = new NearbyList();
        StringBuilder many = new StringBuilder(at(1, 0.01));
        for (int user = 2; user <= 30; user++) {
            many.append(',').append(at(user, 0.01));
        }
        list.restart(frame("{'type':'nearby','total':30,'items':[" + many + "],'next':null}"), 1000);
        list.disconnected();
        list.restart(frame("{'type':'nearby','total':30,'items':[" + many.substring(0, many.indexOf(at(21, 0.01)) - 1) + "],'next':'c'}"), 1000);
        assertEquals("c", list.nextRequest(false)); // twenty are wanted and there; thirty were known
        list.giveUpRequest();
        assertNull(list.nextRequest(true));
    }

    @Test
    public void deletedPostsDoNotComeBackWithAnOldPage() throws Exception {
        PostList posts = new PostList();
        Post nine = Post.read(Json.read(Edge.post(9).replace('\'', '"')));
        Post hundred = Post.read(Json.read(Edge.post(100).replace('\'', '"')));
        posts.replace(Arrays.asList(nine, hundred), null);
        assertEquals("100", posts.list().get(0).id);
        posts.merge(Collections.<Post>emptyList(), Collections.singletonList("9"));
        assertTrue(posts.replace(Arrays.asList(nine, hundred), "50").came.isEmpty());
        assertEquals(1, posts.size());
        assertEquals(1, posts.countBeyond("200"));
        assertEquals(0, posts.countBeyond("50"));
        Post blank = Post.read(Json.readObject("{\"id\":\"100\",\"user\":42}"));
        assertTrue(blank.unavailable);
        posts.merge(Collections.singletonList(blank), Collections.<String>emptyList());
        assertEquals("t100", posts.list().get(0).text); // what was read stays
    }
}
