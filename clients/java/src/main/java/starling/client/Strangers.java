package starling.client;

import java.util.List;

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
}
