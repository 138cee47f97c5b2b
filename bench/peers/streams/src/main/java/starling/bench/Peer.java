package starling.bench;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * The router's join as a Kafka Streams program: a peer of `./dev bench router`.
 *
 * <pre>Peer BOOTSTRAP LOCATIONS DELIVERIES LISTS FIRST ROUTES PRESENT REPORTS stored|single|gathered</pre>
 *
 * Friend lists lie in an in-memory store, partitioned as the topic is; presence is one structure in the process's memory, which
 * the processor keeps up to date as it goes (a single stream thread: the fewest cycles a report), read from the topic up to
 * FIRST before the start. In three ways, each with more done by hand than the one before:
 *   stored    presence in an in-memory store of Streams; one record for each report and route
 *   single    presence in an array of longs
 *   gathered  and the records gathered in a buffer a route, as the router does; a crash then loses what is in the buffers
 *
 * Prints a line after a quarter of the reports, when the code is compiled, and after the last: reports, deliveries, CPU s.
 */
public final class Peer {
    private static final int LEAST = 65536 - 1024, FLUSH_MS = 50;
    private static final long INACTIVE_MS = 3600_000;

    private static long reports, deliveries, told;
    private static Presence presence;

    private static void say() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.printf("{\"reports\":%d,\"deliveries\":%d,\"records\":%d,\"cpu_s\":%.3f}%n", reports, deliveries, told,
                system.getProcessCpuTime() / 1e9);
        System.out.flush();
    }

    /** Friend ids: four bytes each, as they come out of the store. */
    private static final class Friends implements Serializer<int[]>, Deserializer<int[]> {
        @Override public byte[] serialize(String topic, int[] ids) {
            ByteBuffer bytes = ByteBuffer.allocate(4 * ids.length);
            bytes.asIntBuffer().put(ids);
            return bytes.array();
        }

        @Override public int[] deserialize(String topic, byte[] bytes) {
            if (bytes == null) return null;
            int[] ids = new int[bytes.length / 4];
            ByteBuffer.wrap(bytes).asIntBuffer().get(ids);
            return ids;
        }

        @Override public void configure(Map<String, ?> settings, boolean key) { }
        @Override public void close() { }
    }

    private static final class Join implements Processor<byte[], byte[], byte[], byte[]> {
        private final String lists;
        private final int partitions, routes;
        private final long last;
        private final boolean gathered;
        private final byte[][] keys;
        private final Wire wire = new Wire();
        private final int[] slots = new int[5000], counts, starts;
        private final long[] recipients = new long[5000];
        private final byte[][] buffers;
        private final int[] sizes;
        private byte[] scratch = new byte[65536];
        private ProcessorContext<byte[], byte[]> context;
        private KeyValueStore<Long, int[]> friends;

        Join(String lists, int partitions, int routes, long last, boolean gathered) {
            this.lists = lists;
            this.partitions = partitions;
            this.routes = routes;
            this.last = last;
            this.gathered = gathered;
            keys = new byte[routes][];
            for (int route = 0; route < routes; route++) keys[route] = new byte[] {(byte) (route >> 8), (byte) route};
            counts = new int[routes];
            starts = new int[routes];
            buffers = new byte[routes][gathered ? 2 * 65536 : 0];
            sizes = new int[routes];
        }

        @Override public void init(ProcessorContext<byte[], byte[]> context) {
            this.context = context;
            friends = context.getStateStore("friends");
            try (var in = new DataInputStream(new BufferedInputStream(new FileInputStream(lists), 1 << 20))) {
                while (true) {
                    int user = in.readInt();
                    int[] ids = new int[in.readInt()];
                    for (int i = 0; i < ids.length; i++) ids[i] = in.readInt();
                    byte[] key = ByteBuffer.allocate(8).putLong(user).array();
                    if (Utils.toPositive(Utils.murmur2(key)) % partitions == context.taskId().partition())
                        friends.put((long) user, ids);
                }
            } catch (EOFException end) {
                // all are read
            } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
            if (gathered)
                context.schedule(Duration.ofMillis(FLUSH_MS), PunctuationType.WALL_CLOCK_TIME, now -> {
                    for (int route = 0; route < routes; route++) flush(route, now);
                });
        }

        @Override public void process(Record<byte[], byte[]> record) {
            presence.forget();
            wire.read(record.value());
            long user = wire.get();
            int lat = (int) wire.get(), lng = (int) wire.get();
            long time = wire.get();
            wire.get(); // kind
            wire.get(); // session
            int route = (int) wire.get();

            int mine = presence.find(user);
            boolean had = mine >= 0 && time - presence.time(mine) < INACTIVE_MS && presence.time(mine) < time;
            long before = had ? presence.position(mine) : 0;
            if (mine < 0) mine = presence.put(user);
            presence.set(mine, lat, lng, time, route);

            int[] ids = friends.get(user);
            if (ids != null) join(user, lat, lng, time, had, before, ids, record.timestamp());
            if (++reports == last / 4 || reports == last) say();
        }

        private void join(long user, int lat, int lng, long time, boolean had, long before, int[] ids, long timestamp) {
            Circle now = new Circle(lat, lng);
            Circle then = had ? new Circle(Presence.lat(before), Presence.lng(before)) : null;
            int known = 0, near = 0;
            for (int id : ids) {
                int at = presence.find(id);
                if (at >= 0) slots[known++] = at;
            }
            for (int i = 0; i < known; i++) {
                int at = slots[i];
                if (time - presence.time(at) >= INACTIVE_MS) continue;
                long position = presence.position(at);
                boolean is = now.near(Presence.lat(position), Presence.lng(position));
                boolean was = had && then.near(Presence.lat(position), Presence.lng(position));
                if (!is && !was || presence.route(at) < 0) continue;
                slots[near++] = at;
                counts[presence.route(at)]++;
            }
            for (int route = 0, from = 0; route < routes; route++) {
                starts[route] = from;
                from += counts[route];
            }
            for (int i = 0; i < near; i++) recipients[starts[presence.route(slots[i])]++] = presence.user(slots[i]);
            deliveries += near;
            for (int route = 0; route < routes; route++) {
                if (counts[route] == 0) continue;
                tell(route, user, lat, lng, time, starts[route] - counts[route], counts[route], timestamp);
                counts[route] = 0;
            }
        }

        /** A Move to the recipients there. */
        private void tell(int route, long user, int lat, int lng, long time, int from, int count, long timestamp) {
            byte[] out = gathered ? buffers[route] : scratch;
            int at = gathered ? sizes[route] : Wire.HEADER;
            at = Wire.put(out, at, 0);
            at = Wire.put(out, at, user);
            at = Wire.put(out, at, lat);
            at = Wire.put(out, at, lng);
            at = Wire.put(out, at, time);
            at = Wire.put(out, at, count);
            for (int i = 0; i < count; i++) at = Wire.put(out, at, recipients[from + i]);
            at = Wire.put(out, at, 0);
            if (gathered) {
                sizes[route] = at;
                if (at >= LEAST) flush(route, timestamp);
                return;
            }
            told++;
            context.forward(new Record<>(keys[route], Arrays.copyOf(out, at), timestamp));
        }

        private void flush(int route, long timestamp) {
            if (sizes[route] == 0) return;
            told++;
            context.forward(new Record<>(keys[route], Arrays.copyOf(buffers[route], sizes[route]), timestamp));
            sizes[route] = 0;
        }
    }

    /** Presence before the first report, and where the application begins. */
    private static void begin(String bootstrap, String application, String topic, long[] first) throws Exception {
        Properties settings = new Properties();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 10000);
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        List<TopicPartition> all = new ArrayList<>();
        long wanted = 0, read = 0;
        for (int p = 0; p < first.length; p++) {
            all.add(new TopicPartition(topic, p));
            offsets.put(all.get(p), new OffsetAndMetadata(first[p]));
            wanted += first[p];
        }
        Wire wire = new Wire();
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(all);
            consumer.seekToBeginning(all);
            while (read < wanted) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    if (record.offset() >= first[record.partition()]) continue;
                    presence.forget();
                    wire.read(record.value());
                    int at = presence.put(wire.get());
                    int lat = (int) wire.get(), lng = (int) wire.get();
                    long time = wire.get();
                    wire.get();
                    wire.get();
                    presence.set(at, lat, lng, time, (int) wire.get());
                    read++;
                }
            }
        }
        Properties broker = new Properties();
        broker.put("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(broker)) {
            admin.alterConsumerGroupOffsets(application, offsets).all().get();
        }
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], locations = arguments[1], deliveries = arguments[2], lists = arguments[3];
        long[] first = Arrays.stream(arguments[4].split(",")).mapToLong(Long::parseLong).toArray();
        int routes = Integer.parseInt(arguments[5]);
        long last = Long.parseLong(arguments[7]);
        boolean gathered = arguments[8].equals("gathered");
        String application = "bench-streams-" + arguments[8];
        presence = arguments[8].equals("stored") ? new StoredPresence() : new Presence(Integer.parseInt(arguments[6]));
        begin(bootstrap, application, locations, first);

        Serde<int[]> serde = Serdes.serdeFrom(new Friends(), new Friends());
        List<Optional<Set<Integer>>> places = new ArrayList<>();
        for (int route = 0; route < routes; route++) places.add(Optional.of(Set.of(route)));
        StreamPartitioner<byte[], byte[]> byRoute = new StreamPartitioner<>() {
            @Override public Optional<Set<Integer>> partitions(String topic, byte[] key, byte[] value, int count) {
                return places.get((key[0] & 0xff) << 8 | key[1] & 0xff);
            }
        };
        Topology topology = new Topology();
        topology.addSource("locations", Serdes.ByteArray().deserializer(), Serdes.ByteArray().deserializer(), locations);
        topology.addProcessor("join", () -> new Join(lists, first.length, routes, last, gathered), "locations");
        topology.addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("friends"), Serdes.Long(), serde)
                .withLoggingDisabled().withCachingDisabled(), "join");
        topology.addSink("deliveries", deliveries, Serdes.ByteArray().serializer(), Serdes.ByteArray().serializer(), byRoute,
                "join");

        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, System.getProperty("java.io.tmpdir"));
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.FETCH_MIN_BYTES_CONFIG), 65536);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG), 50);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), FLUSH_MS);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 << 10);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 256L << 20);
        KafkaStreams streams = new KafkaStreams(topology, settings);
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            System.exit(1);
            return null;
        });
        streams.start();
        while (reports < last) Thread.sleep(100);
        Thread.sleep(500);
        Runtime.getRuntime().halt(0);
    }
}
