import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.OptionalLong;
import java.util.StringJoiner;
import java.util.function.Function;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Utils;

/** The batch and record lines of the JSON Lines contract, from what Kafka's classes answer. */
final class Lines {
    private static final Field HEADER_KEY = headerKey();

    private Lines() { }

    /**
     * The line of a batch, or of an outer legacy entry.
     *
     * @param baseTimestamp the field of the raw header, which no getter of Kafka's gives; null for legacy
     * @param baseOffset first offset; null if a wrapper could not be opened
     * @param numRecords records or messages inside; null if a wrapper could not be opened
     */
    static String batch(
            String path, FileChannelRecordBatch batch, Long baseTimestamp, Long baseOffset,
            Integer numRecords) {
        OptionalLong horizon = batch.deleteHorizonMs();
        return new Json()
            .put("type", "batch")
            .put("path", path)
            .put("position", batch.position())
            .put("size", batch.sizeInBytes())
            .put("magic", batch.magic())
            .put("base_offset", baseOffset)
            .put("last_offset", batch.lastOffset())
            .put("partition_leader_epoch", batch.partitionLeaderEpoch())
            .put("crc", batch.checksum())
            .put("crc_valid", batch.isValid())
            .put("compression", batch.compressionType().name)
            .put("timestamp_type", batch.timestampType().name)
            .put("is_transactional", batch.isTransactional())
            .put("is_control", batch.isControlBatch())
            .put("delete_horizon_ms", horizon.isPresent() ? horizon.getAsLong() : null)
            .put("base_timestamp", baseTimestamp)
            .put("max_timestamp", batch.maxTimestamp())
            .put("producer_id", batch.producerId())
            .put("producer_epoch", batch.producerEpoch())
            .put("base_sequence", batch.baseSequence())
            .put("last_sequence", batch.lastSequence())
            .put("num_records", numRecords)
            .toString();
    }

    static String record(String path, FileChannelRecordBatch batch, Record record) {
        return record(path, batch, record, Control::of);
    }

    /**
     * The line of a record.
     *
     * @param path of the file; null leaves it out
     * @param control gives the "control" object of a record of a control batch
     */
    static String record(
            String path, FileChannelRecordBatch batch, Record record, Function<Record, String> control) {
        StringJoiner headers = new StringJoiner(",", "[", "]");
        for (Header header : record.headers()) {
            headers.add(new Json().put("key", keyOf(header)).put("value", header.value()).toString());
        }
        Json line = new Json().put("type", "record");
        if (path != null)
            line.put("path", path);
        return line
            .put("position", batch.position())
            .put("offset", record.offset())
            .put("timestamp", record.timestamp())
            .put("timestamp_type", timestampType(batch, record).name)
            .put("sequence", record.sequence())
            .put("key", record.key())
            .put("value", record.value())
            .raw("headers", headers.toString())
            .raw("control", batch.isControlBatch() ? control.apply(record) : "null")
            .toString();
    }

    /** A legacy message carries its type, a v2 record none (DefaultRecord.hasTimestampType). */
    private static TimestampType timestampType(RecordBatch batch, Record record) {
        for (TimestampType type : TimestampType.values())
            if (record.hasTimestampType(type))
                return type;
        return batch.timestampType();
    }

    /** The bytes of the key before RecordHeader.key() decodes them: they need not be UTF-8. */
    private static byte[] keyOf(Header header) {
        try {
            ByteBuffer raw = (ByteBuffer) HEADER_KEY.get(header);
            if (raw == null)
                throw new IllegalStateException("the key of this header was decoded already");
            return Utils.toArray(raw);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field headerKey() {
        try {
            Field field = RecordHeader.class.getDeclaredField("keyBuffer");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("this kafka-clients keeps header keys elsewhere", e);
        }
    }

    /** Position of baseTimestamp in a v2 batch, as Kafka's own layout constants have it. */
    static int baseTimestampOffset() {
        try {
            Field field = DefaultRecordBatch.class.getDeclaredField("BASE_TIMESTAMP_OFFSET");
            field.setAccessible(true);
            return field.getInt(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
