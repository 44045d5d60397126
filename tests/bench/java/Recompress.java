import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/** The batches of a segment compressed as Kafka's producer does: `Recompress SOURCE (CODEC DESTINATION)...`. */
public final class Recompress {
    private static final int PARTITION_LEADER_EPOCH = 5;

    private Recompress() {}

    public static void main(String[] arguments) throws IOException {
        for (int i = 1; i + 1 < arguments.length; i += 2) {
            try (FileRecords source = FileRecords.open(new File(arguments[0]));
                    FileOutputStream destination = new FileOutputStream(arguments[i + 1])) {
                recompress(source, Compression.of(arguments[i]).build(), destination);
            }
        }
    }

    private static void recompress(FileRecords source, Compression codec, FileOutputStream destination)
            throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        for (RecordBatch batch : source.batches()) {
            buffer.clear();
            MemoryRecordsBuilder builder = MemoryRecords.builder(buffer, RecordBatch.MAGIC_VALUE_V2, codec,
                    TimestampType.CREATE_TIME, batch.baseOffset(), RecordBatch.NO_TIMESTAMP,
                    RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, RecordBatch.NO_SEQUENCE, false,
                    PARTITION_LEADER_EPOCH);
            for (Record record : batch) {
                builder.append(record);
            }
            destination.getChannel().write(builder.build().buffer());
        }
    }
}
