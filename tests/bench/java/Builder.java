import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.Utils;

/**
 * Kafka's MemoryRecordsBuilder as an encoder: `Builder serve PATH`.
 *
 * <p>Holds the records of a segment as a producer has them after its serializers, and answers every line on standard
 * input with one pass that builds all batches again, as a line of JSON. The batches are built one behind the other in
 * the same two MiB; whenever one MiB is full its bytes go into the checksum, outside the time.
 */
public final class Builder {
    private static final int LEN_PIECE = 1 << 20;

    /** A batch before it is built. */
    private record Group(long baseOffset, int leaderEpoch, long[] timestamps, byte[][] keys, byte[][] values,
            Header[][] headers) {}

    private final List<Group> groups = new ArrayList<>();
    private final ByteBuffer buffer;
    private final CRC32C checksum = new CRC32C();
    private double seconds;
    private long records;

    private Builder(Path path) throws IOException {
        int largest = 0;
        ByteBuffer segment = ByteBuffer.wrap(Files.readAllBytes(path));
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(segment).batches()) {
            groups.add(groupOf(batch));
            largest = Math.max(largest, batch.sizeInBytes());
        }
        buffer = ByteBuffer.allocate(LEN_PIECE + largest);
    }

    private static Group groupOf(RecordBatch batch) {
        int count = batch.countOrNull();
        Group group = new Group(batch.baseOffset(), batch.partitionLeaderEpoch(), new long[count],
                new byte[count][], new byte[count][], new Header[count][]);
        int index = 0;
        for (Record record : batch) {
            group.timestamps[index] = record.timestamp();
            group.keys[index] = Utils.toNullableArray(record.key());
            group.values[index] = Utils.toNullableArray(record.value());
            group.headers[index] = record.headers();
            index++;
        }
        return group;
    }

    public static void main(String[] arguments) throws IOException {
        Builder builder = new Builder(Path.of(arguments[1]));
        System.out.println("{\"ready\": true}");
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            while (input.readLine() != null) {
                builder.pass();
            }
        }
    }

    private void pass() {
        checksum.reset();
        records = 0;
        seconds = 0;
        int next = 0;
        while (next < groups.size()) {
            long started = System.nanoTime();
            buffer.clear();
            next = piece(next);
            seconds += (System.nanoTime() - started) / 1e9;
            checksum.update(buffer.array(), 0, buffer.position());
        }
        System.out.printf(Locale.ROOT, "{\"seconds\": %.6f, \"records\": %d, \"checksum\": %d}%n",
                seconds, records, checksum.getValue());
    }

    private int piece(int next) {
        ByteBufferOutputStream stream = new ByteBufferOutputStream(buffer);
        while (next < groups.size() && buffer.position() < LEN_PIECE) {
            build(groups.get(next++), stream);
        }
        return next;
    }

    private void build(Group group, ByteBufferOutputStream stream) {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(stream, RecordBatch.MAGIC_VALUE_V2, Compression.NONE,
                TimestampType.CREATE_TIME, group.baseOffset, RecordBatch.NO_TIMESTAMP, RecordBatch.NO_PRODUCER_ID,
                RecordBatch.NO_PRODUCER_EPOCH, RecordBatch.NO_SEQUENCE, false, false, group.leaderEpoch,
                stream.limit());
        for (int index = 0; index < group.timestamps.length; index++) {
            builder.append(group.timestamps[index], group.keys[index], group.values[index], group.headers[index]);
        }
        builder.close();
        records += group.timestamps.length;
    }
}
