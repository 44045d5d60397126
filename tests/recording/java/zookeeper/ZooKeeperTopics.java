import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import kafka.admin.TopicCommand;
import kafka.utils.ZkUtils;

/**
 * `java ZooKeeperTopics ZOOKEEPER TOPIC...`: topics where no admin client can make them yet (0.9, 0.10.2).
 * Each topic is `name:partitions[:key=value[;key=value]...]`.
 */
public final class ZooKeeperTopics {
    private static final int TIMEOUT_MS = 30_000;

    private ZooKeeperTopics() { }

    public static void main(String[] args) {
        ZkUtils zooKeeper = ZkUtils.apply(args[0], TIMEOUT_MS, TIMEOUT_MS, false);
        for (String specification : Arrays.asList(args).subList(1, args.length)) {
            String[] parts = specification.split(":");
            List<String> options = new ArrayList<>(Arrays.asList("--zookeeper", args[0], "--create",
                "--topic", parts[0], "--partitions", parts[1], "--replication-factor", "1"));
            for (String pair : parts.length > 2 ? parts[2].split(";") : new String[0])
                options.addAll(Arrays.asList("--config", pair));
            String[] arguments = options.toArray(new String[0]);
            TopicCommand.createTopic(zooKeeper, new TopicCommand.TopicCommandOptions(arguments));
        }
        zooKeeper.close();
    }
}
