import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * What a broker makes of a partition's directory when it starts: UnifiedLog.create, which LogManager calls for
 * each directory with the recovery point and the log start offset of the checkpoints. A directory, whether the
 * shutdown was clean, and these two offsets a line on standard input; a line with the answer on standard output:
 *
 * `log start;log end;segments as base offset:bytes;offsets that a consumer is given;why it stops` or
 * `error;name of the exception;message`.
 *
 * The directory is changed by that, so give a copy.
 */
public final class Recovery {
    private static final int MAX_BYTES = 1 << 20;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            out.println(answer(new File(words[0]), words[1].equals("clean"), Long.parseLong(words[2]), Long.parseLong(words[3])));
        }
        System.exit(0);
    }

    private static String answer(File folder, boolean isClean, long recoveryPoint, long logStart) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        try (BrokerTopicStats stats = new BrokerTopicStats()) {
            UnifiedLog log = UnifiedLog.create(folder, new LogConfig(Map.of()), logStart, recoveryPoint, scheduler,
                stats, Time.SYSTEM, 900_000, new ProducerStateManagerConfig(86_400_000, false), 600_000,
                new LogDirFailureChannel(1), isClean, Optional.empty());
            String told = described(log);
            log.closeHandlers();
            return told;
        } catch (Throwable error) {
            String message = String.valueOf(error.getMessage()).replace(folder.getPath(), folder.getName());
            return "error;" + error.getClass().getSimpleName() + ";" + message.replace('\n', ' ');
        } finally {
            scheduler.shutdown();
        }
    }

    private static String described(UnifiedLog log) {
        List<String> segments = new ArrayList<>();
        for (LogSegment segment : log.logSegments())
            segments.add(segment.baseOffset() + ":" + segment.size());
        List<String> offsets = new ArrayList<>();
        String why = consumed(log, offsets);
        return log.logStartOffset() + ";" + log.logEndOffset() + ";" + String.join(",", segments) + ";"
            + String.join(",", offsets) + ";" + why;
    }

    /** The offsets that a consumer is given who starts at the beginning, and why it does not come to the end. */
    private static String consumed(UnifiedLog log, List<String> offsets) {
        long position = log.logStartOffset();
        while (position < log.logEndOffset()) {
            long before = position;
            try {
                FetchDataInfo data = log.read(position, MAX_BYTES, FetchIsolation.LOG_END, true);
                for (var batch : data.records.batches()) {
                    batch.ensureValid();
                    for (Record record : batch)
                        if (record.offset() >= position && !batch.isControlBatch())
                            offsets.add(Long.toString(record.offset()));
                    position = Math.max(position, batch.nextOffset());
                }
            } catch (CorruptRecordException error) {
                return "CorruptRecordException at " + position;
            } catch (Exception error) {
                return error.getClass().getSimpleName() + " at " + position;
            }
            if (position == before)
                return "nothing more from " + position;
        }
        return position > log.logEndOffset() ? "its position " + position + " is beyond the end" : "";
    }
}
