package starling.client;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Posts newest first, from the newest one of a timeline down to a cursor. No network and no clock in here. */
final class PostList {
    /** Posts that came, newest first, and posts that went. */
    static final class Difference {
        final List<Post> came = new ArrayList<>();
        final List<String> gone = new ArrayList<>();
    }

    private final Map<String, Post> posts = new LinkedHashMap<>();
    private final Set<String> deleted = new HashSet<>(); // a page that was under way meanwhile may still have them
    /** The cursor of the next older page; null: there is none. */
    String cursor;

    int size() {
        return posts.size();
    }

    boolean has(String id) {
        return posts.containsKey(id);
    }

    /** Newest first; a copy. */
    List<Post> list() {
        return newestFirst(posts.values());
    }

    /** Returns the number of listed posts that a page which begins at that cursor could have. */
    int countBeyond(String next) {
        int count = 0;
        for (String id : posts.keySet()) {
            count += isBeyond(next, id) ? 1 : 0;
        }
        return count;
    }

    /** All of it was read anew. */
    Difference replace(List<Post> items, String next) {
        Map<String, Post> before = new LinkedHashMap<>(posts);
        Difference difference = new Difference();
        posts.clear();
        for (Post post : items) {
            if (!deleted.contains(post.id)) {
                posts.put(post.id, fuller(post, before.get(post.id)));
                if (!before.containsKey(post.id)) {
                    difference.came.add(post);
                }
            }
        }
        for (String id : before.keySet()) {
            if (!posts.containsKey(id)) {
                difference.gone.add(id);
            }
        }
        cursor = next;
        return sorted(difference);
    }

    /** The next older page; returns how many are new. */
    int append(List<Post> items, String next) {
        cursor = next;
        return merge(items, Collections.<String>emptyList()).came.size();
    }

    /** items: posts that came, or came once more; those beyond the cursor wait for their page. gone: ids of posts that were deleted. */
    Difference merge(List<Post> items, List<String> gone) {
        Difference difference = new Difference();
        deleted.addAll(gone);
        for (Post post : items) {
            if (isBeyond(cursor, post.id) || deleted.contains(post.id)) {
                continue;
            }
            if (!posts.containsKey(post.id)) {
                difference.came.add(post);
            }
            posts.put(post.id, fuller(post, posts.get(post.id)));
        }
        for (String id : gone) {
            if (posts.remove(id) != null) {
                difference.gone.add(id);
            }
        }
        return sorted(difference);
    }

    /** Returns the ids of those that went. */
    List<String> drop(PostFilter unwanted) {
        List<String> gone = new ArrayList<>();
        for (Post post : list()) {
            if (unwanted.matches(post)) {
                gone.add(post.id);
                posts.remove(post.id);
            }
        }
        return gone;
    }

    private static Difference sorted(Difference difference) {
        List<Post> came = newestFirst(difference.came);
        difference.came.clear();
        difference.came.addAll(came);
        return difference;
    }

    private static List<Post> newestFirst(Collection<Post> some) {
        List<Post> list = new ArrayList<>(some);
        Collections.sort(list, (a, b) -> compareIds(b.id, a.id));
        return list;
    }

    /** Compares whole numbers without leading zeros. */
    private static int compareIds(String a, String b) {
        return a.length() != b.length() ? Integer.compare(a.length(), b.length()) : a.compareTo(b);
    }

    private static boolean isBeyond(String cursor, String id) {
        return cursor != null && compareIds(id, cursor) < 0;
    }

    /** Keeps the text of a post that was read before and is unavailable now. */
    private static Post fuller(Post post, Post before) {
        return post.unavailable && before != null ? before : post;
    }
}
