package starling.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A link by which whoever has it sees where I am, without an account. */
public final class Link extends Shown {
    public final String id;
    /** When it ends, ms since the epoch. */
    public final long until;
    /** It shows the centre of the cell that I am in, of about a kilometre. */
    public final boolean rounded;
    /** ms since the epoch. */
    public final long made;

    private Link(String id, Map<String, Object> item) {
        this.id = id;
        until = Json.asLong(item.get("until"), 0);
        rounded = Boolean.TRUE.equals(item.get("rounded"));
        made = Json.asLong(item.get("made"), 0);
    }

    /** Leaves out those that are unusable. */
    static List<Link> readAll(Object items) {
        List<Link> links = new ArrayList<>();
        for (Object value : Json.asList(items)) {
            Map<String, Object> item = Json.asObject(value);
            String id = item == null ? null : Json.asText(item.get("id"));
            if (id != null) {
                links.add(new Link(id, item));
            }
        }
        return links;
    }
}
