package starling.client;

import java.util.Map;

/** What became of reports. */
public final class Reported {
    public final long accepted;
    /** Left out because their users do not share. */
    public final long sharingOff;

    Reported(Map<String, Object> answer) {
        accepted = Json.asLong(answer.get("accepted"), 0);
        sharingOff = Json.asLong(answer.get("sharing_off"), 0);
    }
}
