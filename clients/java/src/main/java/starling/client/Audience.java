package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A page of the friends who can see me now. */
public final class Audience extends Page<Audience.Watcher> {
    /** A friend who can see me. */
    public static final class Watcher extends Shown {
        public final long user;
        /** I am on this friend's list now. */
        public final boolean near;

        private Watcher(Map<String, Object> item) {
            user = (Long) item.get("user");
            near = Boolean.TRUE.equals(item.get("near"));
        }
    }

    /** My sharing: off, friends or public. */
    public final String mode;
    /** False: nobody can see me now. */
    public final boolean visible;

    Audience(Map<String, Object> answer) {
        super(readAll(answer.get("items")), answer.get("next"));
        mode = Json.asText(answer.get("mode"));
        visible = Boolean.TRUE.equals(answer.get("visible"));
    }

    private static List<Watcher> readAll(Object items) {
        List<Watcher> watchers = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (Profile.isOne(item)) {
                watchers.add(new Watcher(item));
            }
        }
        return watchers;
    }
}
