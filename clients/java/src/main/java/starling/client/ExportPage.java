package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A page of what is kept of me, all of one kind; it may be empty. */
public final class ExportPage extends Page<Map<String, Object>> {
    /** account, friends, links, places, place-events, following, followers, requesting, requested, muted, posts, devices, notices, comments, edits, likes, reports or history. */
    public final String kind;

    /** Items have the members that openapi.yaml names, as they are there. */
    ExportPage(Map<String, Object> answer) {
        super(readAll(answer.get("items")), answer.get("next"));
        kind = Json.asText(answer.get("kind"));
    }

    private static List<Map<String, Object>> readAll(Object items) {
        List<Map<String, Object>> objects = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            if (item != null) {
                objects.add(item);
            }
        }
        return objects;
    }
}
