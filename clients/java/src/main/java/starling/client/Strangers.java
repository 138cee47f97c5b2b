package starling.client;

import java.util.List;
import java.util.Map;

/** A page of strangers nearby. */
public final class Strangers extends Page<Stranger> {
    /** Of all cells, degrees. */
    public final double cellHeight;
    /** Of all cells, degrees. */
    public final double cellWidth;

    Strangers(List<Stranger> items, Object next, double cellHeight, double cellWidth) {
        super(items, next);
        this.cellHeight = cellHeight;
        this.cellWidth = cellWidth;
    }

    /** Null: it is no page of strangers. */
    static Strangers read(Map<String, Object> page) {
        Map<String, Object> cell = Json.asObject(page.get("cell"));
        if (cell == null || !(page.get("items") instanceof List)) {
            return null;
        }
        return new Strangers(Stranger.readAll(page.get("items")), page.get("next"), Json.asDouble(cell.get("height"), 0),
                Json.asDouble(cell.get("width"), 0));
    }
}
