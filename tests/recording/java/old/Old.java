import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * `java Old BOOTSTRAP STEP ARGUMENT...`: the same records by every old client. Compiled against each of them,
 * so only API is used that 0.9.0.1 had already; timestamps, which came with 0.10, by reflection.
 */
public final class Old {
    /** CreateTime of the first record: 2017-07-14T02:40:00Z. */
    private static final long T0 = 1500000000000L;
    private static final String[] CODECS = {"none", "gzip", "snappy", "lz4"};

    private final String bootstrap;
    private final List<String> refused = Collections.synchronizedList(new ArrayList<String>());

    private Old(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] args) throws Exception {
        Old old = new Old(args[0]);
        List<String> rest = Arrays.asList(args).subList(2, args.length);
        switch (args[1]) {
            case "shapes": old.shapes(rest.get(0), false); break;
            case "shapes-and-big": old.shapes(rest.get(0), true); break;
            case "compact": old.compact(rest.get(0)); break;
            case "multi": old.multi(rest.get(0)); break;
            case "one-batch-each": old.oneBatchEach(rest.get(0), rest.subList(1, rest.size())); break;
            case "group": old.group(rest.get(0)); break;
            default: throw new IllegalArgumentException("no such step: " + args[1]);
        }
        if (!old.refused.isEmpty())
            throw new IllegalStateException("not stored: " + old.refused);
    }

    /** To PREFIX-none, ...: null and empty keys and values, a tombstone, batches of many, few and one. */
    private void shapes(String prefix, boolean big) throws Exception {
        for (String codec : CODECS) {
            String topic = prefix + "-" + codec;
            KafkaProducer<byte[], byte[]> producer = producer(codec);
            keyed(producer, topic);
            send(producer, topic, T0 + 20, null, bytes("null key"));
            send(producer, topic, T0 + 19, bytes(""), bytes("empty key"));
            send(producer, topic, T0 + 21, bytes("tombstone"), null);
            send(producer, topic, T0 + 22, bytes("empty value"), bytes(""));
            send(producer, topic, T0 + 23, null, null);
            producer.flush();
            send(producer, topic, 0, bytes("zero"), bytes("timestamp 0"));
            producer.flush();
            if (big && !codec.equals("gzip")) {
                send(producer, topic, T0 + 41, bytes("text"), text(66000));
                send(producer, topic, T0 + 42, bytes("small"), bytes("after a big one"));
                producer.flush();
            }
            producer.close();
        }
    }

    private void keyed(KafkaProducer<byte[], byte[]> producer, String topic) throws Exception {
        for (int i = 0; i < 12; i++)
            send(producer, topic, T0 + (i * 7 % 12), bytes("key-" + i), bytes("value " + i + " of " + topic));
        producer.flush();
        send(producer, topic, T0 + 30, bytes("one"), bytes("a batch of one"));
        producer.flush();
    }

    /** To PREFIX-none, ...: keys again and again, so that the cleaner leaves gaps in and between wrappers. */
    private void compact(String prefix) throws Exception {
        for (String codec : CODECS) {
            String topic = prefix + "-" + codec;
            KafkaProducer<byte[], byte[]> producer = producer(codec);
            for (int round = 0; round < 7; round++) {
                for (int i = 0; i < 10; i++) {
                    byte[] key = bytes("key" + (i * (round + 1)) % 13);
                    send(producer, topic, T0 + round * 100 + i, key, bytes("round " + round + " i " + i));
                    byte[] once = bytes("once-" + round + "-" + i);
                    if (i == 2 || i == 6)
                        send(producer, topic, T0 + round * 100 + 50 + i, once, bytes("kept"));
                }
                producer.flush();
            }
            send(producer, topic, T0 + 5000, bytes("key1"), null);
            send(producer, topic, T0 + 5001, bytes("key2"), null);
            send(producer, topic, T0 + 5002, bytes("key3"), bytes("alive"));
            producer.flush();
            // The cleaner never touches the active segment: these roll it.
            for (int i = 0; i < 8; i++) {
                send(producer, topic, T0 + 6000 + i, bytes("push"), text(120));
                producer.flush();
            }
            producer.close();
        }
    }

    private void multi(String topic) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producer("none");
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 3; i++)
                send(producer, topic, T0 + round * 1000 - i, bytes("m" + round + "-" + i), text(150 + i));
            producer.flush();
        }
        producer.close();
    }

    /** By every codec, to each topic, a batch of keys that come again and of two that only this label has. */
    private void oneBatchEach(String label, List<String> topics) throws Exception {
        for (String codec : CODECS) {
            KafkaProducer<byte[], byte[]> producer = producer(codec);
            for (String topic : topics) {
                for (int i = 0; i < 5; i++) {
                    send(producer, topic, T0 + i, bytes("key-" + i), bytes(label + " " + codec + " " + i));
                    byte[] once = bytes("once-" + label + "-" + codec + "-" + i);
                    if (i % 2 == 1)
                        send(producer, topic, T0 + i, once, bytes("kept"));
                }
                producer.flush();
            }
            producer.close();
        }
    }

    /** A consumer group that commits, for __consumer_offsets. */
    private void group(String topic) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("group.id", "g-" + topic);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(Arrays.asList(topic));
        long end = System.currentTimeMillis() + 60000;
        int seen = 0;
        while (seen == 0) {
            if (System.currentTimeMillis() > end)
                throw new IllegalStateException("the group saw nothing");
            seen = consumer.poll(500).count();
        }
        consumer.commitSync();
        consumer.close();
    }

    private KafkaProducer<byte[], byte[]> producer(String codec) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("compression.type", codec);
        config.put("acks", "1");
        config.put("retries", "5");
        config.put("linger.ms", "5000");
        config.put("batch.size", "1048576");
        config.put("max.request.size", "4194304");
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private void send(KafkaProducer<byte[], byte[]> producer, final String topic, long time, byte[] key,
            byte[] value) throws Exception {
        producer.send(record(topic, time, key, value), new Callback() {
            @Override
            public void onCompletion(RecordMetadata metadata, Exception e) {
                if (e != null)
                    refused.add(topic + ": " + e);
            }
        });
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, long time, byte[] key, byte[] value)
            throws Exception {
        try {
            Constructor<?> constructor = ProducerRecord.class.getConstructor(
                String.class, Integer.class, Long.class, Object.class, Object.class);
            @SuppressWarnings("unchecked")
            ProducerRecord<byte[], byte[]> record =
                (ProducerRecord<byte[], byte[]>) constructor.newInstance(topic, 0, time, key, value);
            return record;
        } catch (NoSuchMethodException e) {
            return new ProducerRecord<>(topic, 0, key, value);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] text(int size) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; text.length() < size; i++)
            text.append("line ").append(i).append(" the quick brown fox\n");
        return bytes(text.substring(0, size));
    }
}
