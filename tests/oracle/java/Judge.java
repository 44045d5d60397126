import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.StringJoiner;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * What Kafka's classes say of one piece of bytes after the other, over pipes.
 *
 * <pre>in:  size (int32), the bytes of a segment          out: size (int32), one JSON object</pre>
 *
 * Each batch is judged in both ways that Kafka has: `invalid` is what ensureValid throws, and whatever that
 * is, `records` are iterated, up to the `error` that iterating throws. `error` outside of a batch is what
 * finding the next batch throws; `end` is where the last batch ends that was found.
 */
public final class Judge {
    private static final Constructor<FileRecords> FILE_RECORDS = constructor();
    private static final File NAME = new File("case.log");

    private Judge() { }

    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            byte[] data;
            try {
                data = new byte[in.readInt()];
            } catch (EOFException e) {
                out.flush();
                return;
            }
            in.readFully(data);
            byte[] answer = judge(data).getBytes(StandardCharsets.UTF_8);
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static String judge(byte[] data) throws IOException {
        StringJoiner found = new StringJoiner(",", "[", "]");
        int end = 0;
        String error = null;
        try {
            FileRecords records = open(data);  // never closed: nothing was opened, and closing would write
            Iterator<FileChannelRecordBatch> batches = records.batches().iterator();
            while (batches.hasNext()) {
                FileChannelRecordBatch batch = batches.next();
                found.add(batch(data, batch));
                end = batch.position() + batch.sizeInBytes();
            }
        } catch (RuntimeException | Error e) {
            error = text(e);
        }
        return new Json().raw("batches", found.toString()).put("end", end).put("error", error).toString();
    }

    private static String batch(byte[] data, FileChannelRecordBatch batch) {
        Json json = new Json().put("position", batch.position()).put("size", batch.sizeInBytes());
        try {
            json.raw("header", header(data, batch));
        } catch (RuntimeException | Error e) {
            json.raw("header", "null");
        }
        json.put("invalid", invalid(batch::ensureValid));
        StringJoiner records = new StringJoiner(",", "[", "]");
        String error = null;
        try (CloseableIterator<Record> iterator = batch.streamingIterator(BufferSupplier.NO_CACHING)) {
            while (iterator.hasNext())
                records.add(record(batch, iterator.next()));
        } catch (RuntimeException | Error e) {
            error = text(e);
        }
        return json.raw("records", records.toString()).put("error", error).toString();
    }

    private static String header(byte[] data, FileChannelRecordBatch batch) {
        boolean isNew = batch.magic() >= RecordBatch.MAGIC_VALUE_V2;
        String compression;
        try {
            compression = batch.compressionType().name;
        } catch (IllegalArgumentException e) {
            compression = null;  // an unknown number
        }
        return new Json()
            .put("magic", batch.magic())
            .put("last_offset", batch.lastOffset())
            .put("partition_leader_epoch", batch.partitionLeaderEpoch())
            .put("crc", batch.checksum())
            .put("compression", compression)
            .put("timestamp_type", batch.timestampType().name)
            .put("is_transactional", batch.isTransactional())
            .put("is_control", batch.isControlBatch())
            .put("delete_horizon_ms", batch.deleteHorizonMs().isPresent() ? batch.deleteHorizonMs().getAsLong() : null)
            .put("max_timestamp", batch.maxTimestamp())
            .put("producer_id", batch.producerId())
            .put("producer_epoch", batch.producerEpoch())
            .put("base_sequence", batch.baseSequence())
            .put("last_sequence", batch.lastSequence())
            .put("base_offset", isNew ? batch.baseOffset() : null)
            .put("num_records", isNew ? batch.countOrNull() : null)
            .toString();
    }

    /** The record as in the oracle's lines, whether its own checksum is right, and its header keys as text. */
    private static String record(FileChannelRecordBatch batch, Record record) {
        String line = Lines.record(null, batch, record, Judge::control);
        StringJoiner keys = new StringJoiner(",", "[", "]");
        for (Header header : record.headers())
            keys.add(Json.quote(header.key()));
        return new Json().raw("line", line).put("invalid", invalid(record::ensureValid))
            .raw("keys", keys.toString()).toString();
    }

    /** Kafka asks for the meaning of a control record apart from reading it, and may refuse it then. */
    private static String control(Record record) {
        try {
            return Control.of(record);
        } catch (RuntimeException e) {
            return new Json().put("refused", text(e)).toString();
        }
    }

    private static String invalid(Runnable check) {
        try {
            check.run();
            return null;
        } catch (RuntimeException | Error e) {
            return text(e);
        }
    }

    private static String text(Throwable e) {
        StringJoiner text = new StringJoiner(": ");
        for (Throwable cause = e; cause != null; cause = cause.getCause())
            text.add(cause.getClass().getSimpleName()).add(String.valueOf(cause.getMessage()));
        return text.toString();
    }

    private static FileRecords open(byte[] data) {
        try {
            return FILE_RECORDS.newInstance(NAME, new MemoryChannel(data), data.length);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Constructor<FileRecords> constructor() {
        try {
            Constructor<FileRecords> found =
                FileRecords.class.getDeclaredConstructor(File.class, FileChannel.class, int.class);
            found.setAccessible(true);
            return found;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("this kafka-clients opens files otherwise", e);
        }
    }
}
