import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadata;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.AbortedTxn;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogFileUtils;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.OffsetPosition;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.TimeIndex;
import org.apache.kafka.storage.internals.log.TimestampOffset;
import org.apache.kafka.storage.internals.log.TransactionIndex;

/**
 * What Kafka's own classes make of the files of a partition's directory. A path a line on standard input, an
 * answer a line on standard output: words and numbers, or `error` and the name of an exception.
 *
 * For a file, what is in it. For a directory, `recovered`: what a broker rebuilds from its records alone, and
 * what a consumer is then given; it is changed by that, so give a copy.
 */
public final class Beside {
    private static final int MAX_INDEX = 10 << 20;
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(new File(line)));
        }
    }

    private static String answer(File file) {
        try {
            if (file.isDirectory())
                return partition(file);
            String name = file.getName();
            if (name.endsWith(LogFileUtils.INDEX_FILE_SUFFIX))
                return offsetIndex(file);
            if (name.endsWith(LogFileUtils.TIME_INDEX_FILE_SUFFIX))
                return timeIndex(file);
            if (name.endsWith(LogFileUtils.TXN_INDEX_FILE_SUFFIX))
                return transactions(transactionIndex(file).allAbortedTxns());
            if (name.endsWith(LogFileUtils.PRODUCER_SNAPSHOT_FILE_SUFFIX))
                return snapshot(file);
            if (name.equals("leader-epoch-checkpoint"))
                return leaderEpochs(file);
            return metadata(file);
        } catch (Throwable error) {
            return "error " + error.getClass().getSimpleName() + " " + String.valueOf(error.getMessage()).replace('\n', ' ');
        }
    }

    private static String offsetIndex(File file) throws IOException {
        OffsetIndex index = new OffsetIndex(file, LogFileUtils.offsetFromFile(file), MAX_INDEX, false);
        index.sanityCheck();
        List<String> words = new ArrayList<>();
        for (int at = 0; at < index.entries(); at++) {
            OffsetPosition entry = index.entry(at);
            words.add(entry.offset() + " " + entry.position());
        }
        return String.join(",", words);
    }

    private static String timeIndex(File file) throws IOException {
        TimeIndex index = new TimeIndex(file, LogFileUtils.offsetFromFile(file), MAX_INDEX, false);
        index.sanityCheck();
        List<String> words = new ArrayList<>();
        for (int at = 0; at < index.entries(); at++) {
            TimestampOffset entry = index.entry(at);
            words.add(entry.timestamp() + " " + entry.offset());
        }
        return String.join(",", words);
    }

    private static TransactionIndex transactionIndex(File file) throws IOException {
        TransactionIndex index = new TransactionIndex(LogFileUtils.offsetFromFile(file), file);
        index.sanityCheck();
        return index;
    }

    private static String transactions(List<AbortedTxn> aborted) {
        List<String> words = new ArrayList<>();
        for (AbortedTxn one : aborted)
            words.add(one.producerId() + " " + one.firstOffset() + " " + one.lastOffset() + " " + one.lastStableOffset());
        return String.join(",", words);
    }

    private static String snapshot(File file) throws IOException {
        return String.join(",", org.apache.kafka.storage.internals.log.Snapshots.read(file));
    }

    private static String leaderEpochs(File file) throws IOException {
        List<String> words = new ArrayList<>();
        for (var entry : new LeaderEpochCheckpointFile(file, null).read())
            words.add(entry.epoch() + " " + entry.startOffset());
        return String.join(",", words);
    }

    private static String metadata(File file) throws IOException {
        PartitionMetadata metadata = new PartitionMetadataFile(file, null).read();
        return metadata.version() + " " + metadata.topicId();
    }

    /** `aborted;open;last stable offset;offsets of committed records`, after LogSegment.recover on each segment. */
    private static String partition(File folder) throws IOException {
        List<LogSegment> segments = new ArrayList<>();
        File state = new File(folder, "state");
        if (!state.mkdir())
            throw new IOException(state + " is there already");
        ProducerStateManager producers = new ProducerStateManager(PARTITION, state, Integer.MAX_VALUE,
            new ProducerStateManagerConfig(Integer.MAX_VALUE, false), Time.SYSTEM);
        LeaderEpochFileCache epochs = new LeaderEpochFileCache(PARTITION,
            new LeaderEpochCheckpointFile(new File(state, "epochs"), null), new KafkaScheduler(1));
        LogConfig config = new LogConfig(Map.of());
        List<AbortedTxn> aborted = new ArrayList<>();
        for (long baseOffset : baseOffsets(folder)) {
            LogSegment segment = LogSegment.open(folder, baseOffset, config, Time.SYSTEM, true, 0, false, "");
            segment.recover(producers, epochs);
            segments.add(segment);
            aborted.addAll(segment.txnIndex().allAbortedTxns());
        }
        List<String> open = new ArrayList<>();
        for (ProducerStateEntry entry : producers.activeProducers().values())
            if (entry.currentTxnFirstOffset().isPresent())
                open.add(entry.producerId() + " " + entry.currentTxnFirstOffset().getAsLong());
        long lastStableOffset = producers.firstUndecidedOffset().orElse(segments.get(segments.size() - 1).readNextOffset());
        List<String> committed = new ArrayList<>();
        for (LogSegment segment : segments)
            for (long offset : org.apache.kafka.clients.consumer.internals.Committed.offsets(segment.log(), aborted, lastStableOffset))
                committed.add(Long.toString(offset));
        return transactions(aborted) + ";" + String.join(",", open) + ";" + lastStableOffset + ";" + String.join(",", committed);
    }

    private static List<Long> baseOffsets(File folder) {
        List<Long> found = new ArrayList<>();
        for (File file : folder.listFiles())
            if (file.getName().matches("[0-9]{20}\\.log"))
                found.add(LogFileUtils.offsetFromFile(file));
        found.sort(null);
        return found;
    }
}
