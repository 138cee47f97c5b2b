package starling.bench;

/** Where everybody is: open addressing in one array of longs, a user's numbers side by side in half a cache line. */
class Presence {
    private static final int STRIDE = 4;
    protected final long[] table;
    private final int mask;

    Presence(int users) {
        int capacity = Integer.highestOneBit(users) << 2;
        table = new long[capacity * STRIDE];
        mask = capacity - 1;
    }

    private static int mix(long x) {
        x *= 0x9e3779b97f4a7c15L;
        return (int) (x ^ x >>> 32);
    }

    /** The place of a user (ids are above 0), or -1. */
    int find(long user) {
        for (int at = mix(user) & mask; ; at = at + 1 & mask) {
            long key = table[at * STRIDE];
            if (key == user) return at * STRIDE;
            if (key == 0) return -1;
        }
    }

    /** Before each report: places found earlier are of no use any more. */
    void forget() { }

    int put(long user) {
        int at = mix(user) & mask;
        while (table[at * STRIDE] != 0 && table[at * STRIDE] != user) at = at + 1 & mask;
        table[at * STRIDE] = user;
        return at * STRIDE;
    }

    void set(int at, int lat, int lng, long time, int route) {
        table[at + 1] = (long) lat << 32 | lng & 0xffffffffL;
        table[at + 2] = time;
        table[at + 3] = route;
    }

    long user(int at) { return table[at]; }
    long position(int at) { return table[at + 1]; }
    long time(int at) { return table[at + 2]; }
    int route(int at) { return (int) table[at + 3]; }

    static int lat(long position) { return (int) (position >> 32); }
    static int lng(long position) { return (int) position; }
}
