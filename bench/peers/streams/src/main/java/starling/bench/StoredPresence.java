package starling.bench;

import java.nio.ByteBuffer;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** The same in an in-memory store of Kafka Streams, as a global table would hold it: bytes by bytes, copied out at each look-up. */
final class StoredPresence extends Presence {
    private static final int ROOM = 8192;
    private final KeyValueStore<Bytes, byte[]> store = Stores.inMemoryKeyValueStore("presence").get();
    private int next;

    StoredPresence() { super(ROOM); }

    private static Bytes key(long user) { return Bytes.wrap(ByteBuffer.allocate(8).putLong(user).array()); }

    @Override void forget() { next = 0; }

    @Override int find(long user) {
        byte[] value = store.get(key(user));
        if (value == null) return -1;
        ByteBuffer bytes = ByteBuffer.wrap(value);
        int at = next;
        next += 4;
        table[at] = user;
        table[at + 1] = bytes.getLong();
        table[at + 2] = bytes.getLong();
        table[at + 3] = bytes.getInt();
        return at;
    }

    @Override int put(long user) {
        int at = next;
        next += 4;
        table[at] = user;
        return at;
    }

    @Override void set(int at, int lat, int lng, long time, int route) {
        super.set(at, lat, lng, time, route);
        byte[] value = ByteBuffer.allocate(20).putLong(position(at)).putLong(time).putInt(route).array();
        store.put(key(user(at)), value);
    }
}
