import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringSerializer;

/** `java Admin28 BOOTSTRAP create TOPIC... | format VERSION TOPIC... | transactions TOPIC`. */
public final class Admin28 {
    private Admin28() { }

    public static void main(String[] args) throws Exception {
        List<String> rest = Arrays.asList(args).subList(2, args.length);
        if (args[1].equals("transactions")) {
            transactions(args[0], rest.get(0));
            return;
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            if (args[1].equals("create"))
                create(admin, rest);
            else
                format(admin, rest.get(0), rest.subList(1, rest.size()));
        }
    }

    /** Each specification is `name:partitions[:key=value[;key=value]...]`. */
    private static void create(Admin admin, List<String> specifications) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (String specification : specifications) {
            String[] parts = specification.split(":");
            Map<String, String> config = new HashMap<>();
            for (String pair : parts.length > 2 ? parts[2].split(";") : new String[0])
                config.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
            topics.add(new NewTopic(parts[0], Integer.parseInt(parts[1]), (short) 1).configs(config));
        }
        admin.createTopics(topics).all().get();
    }

    /** From the next batch on the broker stores this message format. */
    private static void format(Admin admin, String version, List<String> topics) throws Exception {
        ConfigEntry entry = new ConfigEntry("message.format.version", version);
        AlterConfigOp change = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        Map<ConfigResource, Collection<AlterConfigOp>> changes = new HashMap<>();
        for (String topic : topics)
            changes.put(new ConfigResource(ConfigResource.Type.TOPIC, topic), List.of(change));
        admin.incrementalAlterConfigs(changes).all().get();
        Thread.sleep(500);  // the broker hears of it through ZooKeeper
    }

    /** One committed, one aborted: markers of this release carry the epoch of their data. */
    private static void transactions(String bootstrap, String topic) {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "transactional.id", "tx");
        try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (boolean commit : new boolean[]{true, false}) {
                producer.beginTransaction();
                String value = commit ? "kept" : "ABORTED";
                for (int i = 0; i < 3; i++)
                    producer.send(new ProducerRecord<>(topic, 0, 1500000000000L + i, "k" + i, value));
                if (commit)
                    producer.commitTransaction();
                else
                    producer.abortTransaction();
            }
        }
    }
}
