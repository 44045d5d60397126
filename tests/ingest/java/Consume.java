import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Kafka's consumer, asked again and again: each line of input is `BOOTSTRAP ISOLATION TOPIC:PARTITION...`.
 *
 * <p>For each it prints first and end offset of every partition and every record between them, a line of JSON each, in
 * the form of `Read`, and then `done`.
 */
public final class Consume {
    private static final Duration LONGEST = Duration.ofSeconds(60);

    private Consume() { }

    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            List<TopicPartition> partitions = new ArrayList<>();
            for (int i = 2; i < words.length; i++) {
                int colon = words[i].lastIndexOf(':');
                int number = Integer.parseInt(words[i].substring(colon + 1));
                partitions.add(new TopicPartition(words[i].substring(0, colon), number));
            }
            readAll(words[0], words[1], partitions);
            System.out.println("done");
            System.out.flush();
        }
    }

    private static void readAll(String bootstrap, String isolation, List<TopicPartition> partitions) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("isolation.level", isolation);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "none");
        config.put("exclude.internal.topics", "false");
        config.put("fetch.max.wait.ms", "20");
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<byte[], byte[]>(config, bytes, bytes)) {
            consumer.assign(partitions);
            Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            for (TopicPartition one : partitions)
                print("bounds", one, "\"first_offset\":" + begins.get(one) + ",\"end_offset\":" + ends.get(one));
            begins.forEach(consumer::seek);
            long until = System.nanoTime() + LONGEST.toNanos();
            while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                if (System.nanoTime() > until)
                    throw new IllegalStateException("waited in vain for records");
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    TopicPartition one = new TopicPartition(record.topic(), record.partition());
                    if (record.offset() < ends.get(one))
                        print("record", one, Read.of(record));
                }
            }
        }
    }

    private static void print(String type, TopicPartition partition, String rest) {
        System.out.println("{\"type\":\"" + type + "\",\"topic\":\"" + partition.topic() + "\",\"partition\":"
                + partition.partition() + "," + rest + "}");
    }
}
