package starling.client;

/** Chooses posts. */
public interface PostFilter {
    boolean matches(Post post);
}
