package starling.bench;

/** Avro's binary encoding, as far as it is needed: a Location is read, a Move is written. */
final class Wire {
    static final int HEADER = 5;

    private byte[] bytes;
    private int at;

    void read(byte[] value) {
        bytes = value;
        at = HEADER;
    }

    long get() {
        long raw = 0;
        for (int shift = 0; ; shift += 7) {
            byte b = bytes[at++];
            raw |= (long) (b & 0x7f) << shift;
            if (b >= 0) return raw >>> 1 ^ -(raw & 1);
        }
    }

    static int put(byte[] out, int at, long value) {
        long raw = value << 1 ^ value >> 63;
        while ((raw & ~0x7fL) != 0) {
            out[at++] = (byte) (raw | 0x80);
            raw >>>= 7;
        }
        out[at++] = (byte) raw;
        return at;
    }
}
