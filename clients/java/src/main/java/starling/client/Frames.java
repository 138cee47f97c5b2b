package starling.client;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Frames, one JSON object each. */
final class Frames {
    private static final String[] LISTS = {"items", "near", "gone", "counters"};

    private Frames() {}

    /** Throws an IOException if the text is not JSON, not an object, or not of the shape of its type. */
    static Map<String, Object> read(String text) throws IOException {
        Map<String, Object> frame = Json.readObject(text);
        for (String name : LISTS) {
            if (frame.containsKey(name) && !(frame.get(name) instanceof List)) {
                throw new IOException(name + " is no list");
            }
        }
        if ("nearby".equals(frame.get("type")) && !frame.containsKey("items")) {
            throw new IOException("a page without items");
        }
        if ("welcome".equals(frame.get("type")) && !(frame.get("user") instanceof Long)) {
            throw new IOException("a welcome to nobody");
        }
        return frame;
    }
}
