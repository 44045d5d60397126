import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecords.RecordFilter;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;

/** What Kafka 3.9 makes of batches when it converts them down or up, and when it cleans them. */
public final class Kafka39 {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);

    private Kafka39() { }

    public static void main(String[] args) throws IOException {
        Pipe.serve((operation, question) -> {
            switch (operation) {
                case 'D': return downConvert(question);
                case 'U': return upConvert(question);
                case 'F': return filter(question);
                default: throw new IllegalArgumentException("no such operation: " + operation);
            }
        });
    }

    /** As for a consumer of an old client: magic, offset asked for, batches. */
    private static ByteBuffer downConvert(DataInputStream in) throws IOException {
        byte magic = in.readByte();
        long firstOffset = in.readLong();
        MemoryRecords records = MemoryRecords.readableRecords(Pipe.bytes(in));
        return records.downConvert(magic, firstOffset, Time.SYSTEM).records().buffer();
    }

    /** As for an old producer: magic, next offset, timestamp type and time of the append, leader epoch, its request. */
    private static ByteBuffer upConvert(DataInputStream in) throws IOException {
        byte magic = in.readByte();
        long nextOffset = in.readLong();
        TimestampType type = TimestampType.forName(in.readUTF());
        long now = in.readLong();
        int leaderEpoch = in.readInt();
        MemoryRecords records = MemoryRecords.readableRecords(Pipe.bytes(in));
        CompressionType codec = records.batches().iterator().next().compressionType();
        LogValidator validator = new LogValidator(records, PARTITION, new Fixed(now), codec,
            Compression.of(codec).build(), false, magic, type, Long.MAX_VALUE, Long.MAX_VALUE, leaderEpoch,
            AppendOrigin.CLIENT, MetadataVersion.latestProduction());
        return validator.validateMessagesAndAssignOffsets(
            PrimitiveRef.ofLong(nextOffset), new NoMetrics(), BufferSupplier.NO_CACHING).validatedRecords.buffer();
    }

    private static ByteBuffer filter(DataInputStream in) throws IOException {
        Decisions decisions = new Decisions(in);
        MemoryRecords records = MemoryRecords.readableRecords(Pipe.bytes(in));
        RecordFilter filter = new RecordFilter(decisions.currentTime, decisions.deleteRetentionMs) {
            @Override
            protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                int number = decisions.nextBatch();
                return new BatchRetentionResult(
                    BatchRetention.values()[decisions.kind(number)], decisions.containsMarkerForEmptyTxn(number));
            }

            @Override
            protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return decisions.retains(record.offset());
            }
        };
        // Large enough that Kafka never grows it: it would stop after that batch.
        ByteBuffer target = ByteBuffer.allocate(2 * records.sizeInBytes() + (1 << 20));
        ByteBuffer output = records.filterTo(
            PARTITION, filter, target, Integer.MAX_VALUE, BufferSupplier.NO_CACHING).outputBuffer();
        output.flip();
        return output;
    }

    private static final class Fixed implements Time {
        private final long now;

        Fixed(long now) {
            this.now = now;
        }

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }
    }

    private static final class NoMetrics implements LogValidator.MetricsRecorder {
        @Override
        public void recordInvalidMagic() { }

        @Override
        public void recordInvalidOffset() { }

        @Override
        public void recordInvalidSequence() { }

        @Override
        public void recordInvalidChecksums() { }

        @Override
        public void recordNoKeyCompactedTopic() { }
    }
}
