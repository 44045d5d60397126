import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Topics: made, configured, deleted. */
final class Topics {
    private Topics() { }

    private static Admin admin(String bootstrap) {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    /** Each specification is `name:partitions[:key=value[;key=value]...]`. */
    static void create(String bootstrap, String... specifications) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (String specification : specifications) {
            String[] parts = specification.split(":");
            Map<String, String> config = new HashMap<>();
            for (String pair : parts.length > 2 ? parts[2].split(";") : new String[0])
                config.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
            topics.add(new NewTopic(parts[0], Integer.parseInt(parts[1]), (short) 1).configs(config));
        }
        try (Admin admin = admin(bootstrap)) {
            admin.createTopics(topics).all().get();
        }
    }

    static void configure(String bootstrap, String key, String value, String... topics) throws Exception {
        Map<ConfigResource, java.util.Collection<AlterConfigOp>> changes = new HashMap<>();
        for (String topic : topics)
            changes.put(new ConfigResource(ConfigResource.Type.TOPIC, topic),
                List.of(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
        try (Admin admin = admin(bootstrap)) {
            admin.incrementalAlterConfigs(changes).all().get();
        }
    }

    static void delete(String bootstrap, String topic) throws Exception {
        try (Admin admin = admin(bootstrap)) {
            admin.deleteTopics(List.of(topic)).all().get();
        }
    }

    static void deleteRecords(String bootstrap, String topic, long before) throws Exception {
        try (Admin admin = admin(bootstrap)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(before))).all().get();
        }
    }
}
