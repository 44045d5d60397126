import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/**
 * The indexes that a broker makes of a segment when it recovers: for each pair of arguments, a directory with
 * one segment and its index interval, the files are made anew beside it. Prints how many bytes were cut off.
 */
public final class Recovered {
    private Recovered() { }

    public static void main(String[] args) throws IOException {
        for (int i = 0; i < args.length; i += 2)
            System.out.println(recover(Path.of(args[i]), args[i + 1]));
    }

    private static int recover(Path directory, String interval) throws IOException {
        String name = null;
        for (String found : directory.toFile().list())
            name = found.endsWith(".log") ? found : name;
        long baseOffset = Long.parseLong(name.substring(0, name.indexOf('.')));
        LogConfig config = new LogConfig(Map.of("index.interval.bytes", interval));
        File folder = directory.toFile();
        ProducerStateManager producers = new ProducerStateManager(new TopicPartition("t", 0), folder, 1 << 20,
            new ProducerStateManagerConfig(1 << 30, false), Time.SYSTEM);
        try (LogSegment segment = LogSegment.open(folder, baseOffset, config, Time.SYSTEM, true, 0, false, "")) {
            return segment.recover(producers, null);
        }
    }
}
