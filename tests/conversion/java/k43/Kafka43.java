import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecords.RecordFilter;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

/** What Kafka 4.3 makes of batches when it cleans them: it writes the old formats as v2. */
public final class Kafka43 {
    private Kafka43() { }

    public static void main(String[] args) throws IOException {
        Pipe.serve((operation, question) -> {
            if (operation != 'F')
                throw new IllegalArgumentException("no such operation: " + operation);
            return filter(question);
        });
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
        ByteBuffer output = records.filterTo(filter, target, BufferSupplier.NO_CACHING).outputBuffer();
        output.flip();
        return output;
    }
}
