package starling.client;

import java.util.Map;

/** Who sees me. */
public final class Sharing extends Shown {
    /** off: nobody sees me. friends: my friends do. public: strangers around who share publicly, too, by cells. */
    public final String mode;
    /** When sharing ends by itself, ms since the epoch; null: it has no end, or is off. */
    public final Long until;
    /** Friends who see the exact place are told what my phone says beside it, too. */
    public final boolean details;

    private Sharing(String mode, Object until, Object details) {
        this.mode = mode;
        this.until = until instanceof Long ? (Long) until : null;
        this.details = Boolean.TRUE.equals(details);
    }

    /** Null: it is none. */
    static Sharing read(Map<String, Object> answer) {
        String mode = Json.asText(answer.get("mode"));
        return mode == null ? null : new Sharing(mode, answer.get("until"), answer.get("details"));
    }
}
