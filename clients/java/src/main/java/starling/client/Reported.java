package starling.client;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** What became of reports. */
public final class Reported extends Shown {
    public final long accepted;
    /** Left out because their users do not share. */
    public final long sharingOff;

    /** What the server never takes of several: a time out of range, for one. */
    public final List<Report> refused;

    Reported(Map<String, Object> answer, List<Report> refused) {
        this.refused = Collections.unmodifiableList(refused);
        accepted = Json.asLong(answer.get("accepted"), 0);
        sharingOff = Json.asLong(answer.get("sharing_off"), 0);
    }
}
