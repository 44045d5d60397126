import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Kafka's consumer over partition 0 of topics: `Read BOOTSTRAP TOPIC...`.
 *
 * <p>For each isolation level it prints a line of JSON for every record, first and end offset of every partition, the
 * first records behind some offsets (which the broker finds by `.index`), and the first offsets at some times (which it
 * finds by `.timeindex`). Bytes are in base64.
 */
public final class Read {
    private static final Duration LONGEST = Duration.ofSeconds(20);
    private static final int NUM_PLACES = 7;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String isolation;
    private final List<TopicPartition> partitions;

    private Read(String bootstrap, String isolation, List<TopicPartition> partitions) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("isolation.level", isolation);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "none");
        config.put("check.crcs", "true");
        config.put("fetch.max.wait.ms", "20");
        consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        this.isolation = isolation;
        this.partitions = partitions;
    }

    public static void main(String[] arguments) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (String topic : Arrays.copyOfRange(arguments, 1, arguments.length))
            partitions.add(new TopicPartition(topic, 0));
        for (String isolation : List.of("read_uncommitted", "read_committed"))
            new Read(arguments[0], isolation, partitions).everything();
    }

    private void everything() {
        try (consumer) {
            consumer.assign(partitions);
            Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            partitions.forEach(one -> print("bounds", one,
                    "\"first_offset\":" + begins.get(one) + ",\"end_offset\":" + ends.get(one)));
            Map<TopicPartition, List<Long>> times = readAll(begins, ends);
            for (int place = 0; place < NUM_PLACES; place++) {
                seekTo(place, begins, ends);
                askFor(place, times);
            }
        }
    }

    private Map<TopicPartition, List<Long>> readAll(
            Map<TopicPartition, Long> begins, Map<TopicPartition, Long> ends) {
        Map<TopicPartition, List<Long>> times = new HashMap<>();
        begins.forEach(consumer::seek);
        long until = System.nanoTime() + LONGEST.toNanos();
        while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
            expectMore(until);
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                print("record", partition, of(record));
                times.computeIfAbsent(partition, any -> new ArrayList<>()).add(record.timestamp());
            }
        }
        return times;
    }

    /** Seek to an offset in the middle, every partition at once, and print the record that comes first. */
    private void seekTo(int place, Map<TopicPartition, Long> begins, Map<TopicPartition, Long> ends) {
        Map<TopicPartition, Long> sought = new HashMap<>();
        for (TopicPartition one : partitions) {
            long span = ends.get(one) - begins.get(one);
            sought.put(one, begins.get(one) + span * place / NUM_PLACES);
        }
        sought.forEach(consumer::seek);
        Set<TopicPartition> waiting = new HashSet<>(partitions);
        long until = System.nanoTime() + LONGEST.toNanos();
        while (!waiting.isEmpty()) {
            expectMore(until);
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
                TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                if (waiting.remove(partition))
                    print("sought", partition, "\"sought\":" + sought.get(partition) + "," + of(record));
            }
            // Nothing but markers and aborted records may be left behind an offset.
            waiting.removeIf(one -> consumer.position(one) >= ends.get(one));
        }
    }

    private void askFor(int place, Map<TopicPartition, List<Long>> times) {
        Map<TopicPartition, Long> asked = new HashMap<>();
        times.forEach((one, all) -> asked.put(one, all.get(all.size() * place / NUM_PLACES)));
        asked.values().removeIf(time -> time < 0);
        Map<TopicPartition, OffsetAndTimestamp> found = consumer.offsetsForTimes(asked);
        found.forEach((one, answer) -> print("time", one, "\"asked\":" + asked.get(one)
                + ",\"offset\":" + answer.offset() + ",\"timestamp\":" + answer.timestamp()));
    }

    private static void expectMore(long until) {
        if (System.nanoTime() > until)
            throw new IllegalStateException("waited in vain for records");
    }

    private void print(String type, TopicPartition partition, String rest) {
        System.out.println("{\"type\":\"" + type + "\",\"isolation\":\"" + isolation + "\",\"topic\":\""
                + partition.topic() + "\"," + rest + "}");
    }

    static String of(ConsumerRecord<byte[], byte[]> record) {
        StringJoiner headers = new StringJoiner(",", "[", "]");
        for (Header header : record.headers())
            headers.add("[" + of(header.key().getBytes(StandardCharsets.UTF_8)) + "," + of(header.value()) + "]");
        return "\"offset\":" + record.offset() + ",\"timestamp\":" + record.timestamp() + ",\"timestamp_type\":\""
                + record.timestampType() + "\",\"leader_epoch\":" + record.leaderEpoch().orElse(null)
                + ",\"key\":" + of(record.key()) + ",\"value\":" + of(record.value()) + ",\"headers\":" + headers;
    }

    private static String of(byte[] bytes) {
        return bytes == null ? "null" : "\"" + Base64.getEncoder().encodeToString(bytes) + "\"";
    }
}
