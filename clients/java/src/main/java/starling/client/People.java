package starling.client;

import java.util.Map;

/** A page of users, of whom profile and handle are told. */
public final class People extends Page<User> {
    /** Of all pages. */
    public final long total;

    People(Map<String, Object> answer) {
        super(User.readAll(answer.get("items")), answer.get("next"));
        total = Json.asLong(answer.get("total"), 0);
    }
}
