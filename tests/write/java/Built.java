import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecordJsonConverter;
import org.apache.kafka.common.message.LeaderChangeMessageJsonConverter;
import org.apache.kafka.common.message.SnapshotFooterRecordJsonConverter;
import org.apache.kafka.common.message.SnapshotHeaderRecordJsonConverter;
import org.apache.kafka.common.message.VotersRecordJsonConverter;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.Utils;

/**
 * What Kafka's own builder makes of records and options: for each line of standard input, a JSON object, one
 * line with the bytes in base64, or the class and message of what was thrown, after an exclamation mark.
 */
public final class Built {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final JsonNode options;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private MemoryRecordsBuilder builder;
    private int sequence;

    private Built(JsonNode options) {
        this.options = options;
        this.sequence = options.path("base_sequence").asInt();
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine())
            System.out.println(answer(MAPPER.readTree(line)));
    }

    private static String answer(JsonNode options) {
        try {
            return Base64.getEncoder().encodeToString(new Built(options).build());
        } catch (Exception e) {
            return "!" + e.getClass().getSimpleName() + ": " + e.getMessage();
        }
    }

    private byte[] build() {
        if (options.path("empty").asBoolean())
            return empty();
        for (JsonNode record : options.get("records"))
            append(record);
        finish();
        return out.toByteArray();
    }

    private byte[] empty() {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(buffer, (byte) 2, number("producer_id"), (short) number("producer_epoch"),
            (int) number("base_sequence"), number("base_offset"), number("last_offset"),
            (int) number("partition_leader_epoch"), timestampType(), number("max_timestamp"),
            options.get("is_transactional").asBoolean(), options.get("is_control").asBoolean());
        return buffer.array();
    }

    private void append(JsonNode record) {
        long offset = record.get("offset").asLong();
        long timestamp = record.get("timestamp").asLong();
        if (record.has("control")) {
            open(offset);
            control(timestamp, ControlRecordType.valueOf(record.get("control").asText()), record.get("fields"));
            return;
        }
        byte[] key = bytes(record.get("key"));
        byte[] value = bytes(record.get("value"));
        Header[] headers = new Header[record.get("headers").size()];
        for (int i = 0; i < headers.length; i++) {
            JsonNode pair = record.get("headers").get(i);
            byte[] name = bytes(pair.get(0));
            headers[i] = new RecordHeader(name == null ? null : Utils.utf8(name), bytes(pair.get(1)));
        }
        if (builder != null && !builder.hasRoomFor(timestamp, key, value, headers))
            finish();
        open(offset);
        builder.appendWithOffset(offset, timestamp, key, value, headers);
    }

    private void control(long timestamp, ControlRecordType type, JsonNode fields) {
        short version = (short) fields.path("version").asInt();
        switch (type) {
            case COMMIT:
            case ABORT:
                builder.appendEndTxnMarker(timestamp,
                    new EndTransactionMarker(type, fields.get("coordinatorEpoch").asInt()));
                break;
            case LEADER_CHANGE:
                builder.appendLeaderChangeMessage(timestamp, LeaderChangeMessageJsonConverter.read(fields, version));
                break;
            case SNAPSHOT_HEADER:
                builder.appendSnapshotHeaderMessage(timestamp,
                    SnapshotHeaderRecordJsonConverter.read(fields, version));
                break;
            case SNAPSHOT_FOOTER:
                builder.appendSnapshotFooterMessage(timestamp,
                    SnapshotFooterRecordJsonConverter.read(fields, version));
                break;
            case KRAFT_VERSION:
                builder.appendKRaftVersionMessage(timestamp, KRaftVersionRecordJsonConverter.read(fields, version));
                break;
            case KRAFT_VOTERS:
                builder.appendVotersMessage(timestamp, VotersRecordJsonConverter.read(fields, version));
                break;
            default:
                throw new IllegalArgumentException("no builder of " + type);
        }
    }

    /** The next batch begins with this record, unless the options say where it begins. */
    private void open(long offset) {
        if (builder != null)
            return;
        byte magic = (byte) number("magic");
        long baseOffset = options.get("base_offset").isNull() ? offset : number("base_offset");
        builder = new MemoryRecordsBuilder(new ByteBufferOutputStream(1 << 10), magic, compression(), timestampType(),
            baseOffset, number("log_append_time"), number("producer_id"), (short) number("producer_epoch"),
            sequence, options.get("is_transactional").asBoolean(),
            options.get("is_control").asBoolean(), (int) number("partition_leader_epoch"),
            (int) number("batch_size"), number("delete_horizon_ms"));
    }

    /** As a producer does: the next batch goes on behind the last sequence number. */
    private void finish() {
        if (builder == null)
            return;
        if (!options.get("last_offset").isNull())
            builder.overrideLastOffset(number("last_offset"));
        MemoryRecords records = builder.build();
        for (RecordBatch batch : records.batches())
            if (sequence >= 0)
                sequence = DefaultRecordBatch.incrementSequence(batch.lastSequence(), 1);
        ByteBuffer built = records.buffer();
        byte[] bytes = new byte[built.remaining()];
        built.duplicate().get(bytes);
        out.writeBytes(bytes);
        builder = null;
    }

    private Compression compression() {
        return Compression.of(CompressionType.forName(options.get("compression").asText())).build();
    }

    private TimestampType timestampType() {
        if (number("magic") == 0)
            return TimestampType.NO_TIMESTAMP_TYPE;
        return TimestampType.forName(options.get("timestamp_type").asText());
    }

    private long number(String name) {
        return options.get(name).asLong();
    }

    private static byte[] bytes(JsonNode node) {
        return node.isNull() ? null : Base64.getDecoder().decode(node.asText());
    }
}
