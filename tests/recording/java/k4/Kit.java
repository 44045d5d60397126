import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TransactionAbortedException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What all producers share. A batch ends only where the caller flushes: same calls, same batches. */
final class Kit {
    /** CreateTime of the first record everywhere: 2023-11-14T22:13:20Z. */
    static final long T0 = 1700000000000L;
    static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    private Kit() { }

    /** Sends records, and remembers what the broker refused. */
    static final class Sender implements AutoCloseable {
        final KafkaProducer<byte[], byte[]> producer;
        private final List<String> refused = new ArrayList<>();

        Sender(String bootstrap, String... settings) {
            Map<String, Object> config = new HashMap<>();
            config.put("bootstrap.servers", bootstrap);
            config.put("linger.ms", "60000");
            config.put("batch.size", "1048576");
            config.put("max.request.size", "4194304");
            config.put("enable.idempotence", "false");
            config.put("delivery.timeout.ms", "200000");
            for (int i = 0; i < settings.length; i += 2)
                config.put(settings[i], settings[i + 1]);
            producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        }

        Sender send(String topic, int partition, long time, byte[] key, byte[] value, Header... headers) {
            var record = new ProducerRecord<>(topic, partition, time, key, value, Arrays.asList(headers));
            producer.send(record, (metadata, e) -> {
                if (e != null && !(e instanceof TransactionAbortedException))
                    refused.add(topic + ": " + e);
            });
            return this;
        }

        Sender send(String topic, long timestamp, String key, String value) {
            return send(topic, 0, timestamp, bytes(key), bytes(value));
        }

        void flush() {
            producer.flush();
        }

        @Override
        public void close() {
            producer.close();
            if (!refused.isEmpty())
                throw new IllegalStateException("not stored: " + refused);
        }
    }

    static Sender idempotent(String bootstrap, String... settings) {
        List<String> all = new ArrayList<>(List.of("enable.idempotence", "true", "acks", "all"));
        all.addAll(Arrays.asList(settings));
        return new Sender(bootstrap, all.toArray(new String[0]));
    }

    static Sender transactional(String bootstrap, String id, String... settings) {
        List<String> all = new ArrayList<>(Arrays.asList(settings));
        all.addAll(List.of("transactional.id", id, "transaction.timeout.ms", "800000"));
        return idempotent(bootstrap, all.toArray(new String[0]));
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static Header header(String key, byte[] value) {
        return new RecordHeader(key, value);
    }

    /** Bytes which no codec makes smaller; the same for the same seed. */
    static byte[] noise(int size, long seed) {
        byte[] noise = new byte[size];
        new Random(seed).nextBytes(noise);
        return noise;
    }

    static byte[] text(int size) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; text.length() < size; i++)
            text.append("line ").append(i).append(" the quick brown fox\n");
        return bytes(text.substring(0, size));
    }
}
