import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentFileset;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.Transferer;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/**
 * What Kafka's own classes do with files that the catalog reads.
 *
 * <pre>
 * upload TOP DIRECTORY TOPIC PARTITION TOPIC_ID (BASE END ID EPOCHS)...   segments into LocalTieredStorage's layout
 * lock FILE                                                              holds it until standard input ends
 * epochs                                                                 a line "CHECKPOINT END EPOCH" each: endOffsetFor
 * </pre>
 */
public class Catalog {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "upload" -> upload(arguments);
            case "lock" -> lock(Path.of(arguments[1]));
            case "epochs" -> epochs();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void upload(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[2]);
        TopicPartition partition = new TopicPartition(arguments[3], Integer.parseInt(arguments[4]));
        TopicIdPartition topic = new TopicIdPartition(Uuid.fromString(arguments[5]), partition);
        for (int at = 6; at < arguments.length; at += 4) {
            long base = Long.parseLong(arguments[at]);
            long end = Long.parseLong(arguments[at + 1]);
            RemoteLogSegmentId id = new RemoteLogSegmentId(topic, Uuid.fromString(arguments[at + 2]));
            Path log = file(directory, base, "log");
            RemoteLogSegmentMetadata metadata = new RemoteLogSegmentMetadata(
                id, base, end - 1, 0, 0, 0, (int) Files.size(log), Map.of(0, base));
            Optional<Path> transactions = Optional.of(file(directory, base, "txnindex")).filter(Files::exists);
            byte[] epochs = Files.readAllBytes(Path.of(arguments[at + 3]));
            LogSegmentData data = new LogSegmentData(
                log, file(directory, base, "index"), file(directory, base, "timeindex"), transactions,
                file(directory, end, "snapshot"), ByteBuffer.wrap(epochs));
            RemoteLogSegmentFileset.openFileset(new File(arguments[1]), metadata).copy(new Copier(), data);
        }
    }

    private static Path file(Path directory, long offset, String suffix) {
        return directory.resolve(String.format("%020d.%s", offset, suffix));
    }

    private static final class Copier implements Transferer {
        @Override
        public void transfer(File from, File to) throws IOException {
            Files.copy(from.toPath(), to.toPath());
        }

        @Override
        public void transfer(ByteBuffer from, File to) throws IOException {
            Files.write(to.toPath(), from.array());
        }
    }

    private static void lock(Path path) throws Exception {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            System.out.println(channel.tryLock() == null ? "refused" : "held");
            while (System.in.read() >= 0) {
                // until it ends
            }
        }
    }

    private static void epochs() throws Exception {
        Map<String, LeaderEpochFileCache> caches = new TreeMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ");
            LeaderEpochFileCache cache = caches.get(parts[0]);
            if (cache == null) {
                cache = new LeaderEpochFileCache(
                    new TopicPartition("t", 0),
                    new LeaderEpochCheckpointFile(new File(parts[0]), new LogDirFailureChannel(1)), null);
                caches.put(parts[0], cache);
            }
            Map.Entry<Integer, Long> answer =
                cache.endOffsetFor(Integer.parseInt(parts[2]), Long.parseLong(parts[1]));
            System.out.println(answer.getKey() + " " + answer.getValue());
        }
    }
}
