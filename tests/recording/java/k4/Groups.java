import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Groups of every protocol, for the internal topics __consumer_offsets and __share_group_state. */
final class Groups {
    private static final TopicPartition MULTI = new TopicPartition("multi", 0);

    private Groups() { }

    static void run(String bootstrap) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            consume(bootstrap, "classic");
            consume(bootstrap, "consumer");
            share(bootstrap, admin);
            // A deleted group leaves tombstones.
            Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(MULTI, new OffsetAndMetadata(1, ""));
            admin.alterConsumerGroupOffsets("g-deleted", offsets).all().get();
            admin.deleteConsumerGroups(List.of("g-deleted")).all().get();
        }
    }

    private static Map<String, Object> config(String bootstrap, String group) {
        return new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group));
    }

    private static void consume(String bootstrap, String protocol) {
        Map<String, Object> config = config(bootstrap, "g-" + protocol);
        config.putAll(Map.of("group.protocol", protocol, "auto.offset.reset", "earliest",
            "enable.auto.commit", "false", "client.id", "c-" + protocol));
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(config, bytes, bytes)) {
            consumer.subscribe(List.of("multi", "shapes"));
            untilSome(50, () -> consumer.poll(Duration.ofMillis(500)).count());
            consumer.commitSync();
            consumer.commitSync(Map.of(MULTI, new OffsetAndMetadata(5, Optional.of(0), "metadata \u00e9")));
        }
    }

    private static void share(String bootstrap, Admin admin) throws Exception {
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "g-share");
        ConfigEntry entry = new ConfigEntry("share.auto.offset.reset", "earliest");
        AlterConfigOp change = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(group, List.of(change))).all().get();
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaShareConsumer<>(config(bootstrap, "g-share"), bytes, bytes)) {
            consumer.subscribe(List.of("shapes"));
            untilSome(10, () -> consumer.poll(Duration.ofMillis(500)).count());
            consumer.commitSync();
        }
    }

    private static void untilSome(int enough, IntSupplier poll) {
        long end = System.currentTimeMillis() + 30_000;
        for (int seen = 0; seen < enough; seen += poll.getAsInt())
            if (System.currentTimeMillis() > end)
                throw new IllegalStateException("a group saw only " + seen + " records");
    }
}
