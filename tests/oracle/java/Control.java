import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.Locale;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.KRaftVersionRecordJsonConverter;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.LeaderChangeMessageJsonConverter;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotFooterRecordJsonConverter;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecordJsonConverter;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.message.VotersRecordJsonConverter;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.ControlRecordUtils;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.Record;

/** The "control" object of a record of a control batch, by Kafka's own deserializers. */
final class Control {
    /** Type id and, in front of it, the version: two int16 (ControlRecordType). */
    private static final int LEN_KEY = 4;

    private Control() { }

    static String of(Record record) {
        ByteBuffer key = record.key();
        if (key == null || key.remaining() < LEN_KEY)
            return new Json().put("type", "INVALID").raw("type_id", "null").raw("version", "null")
                .raw("value", "null").toString();
        short version = key.getShort(key.position());
        short typeId = ControlRecordType.parseTypeId(key.duplicate());
        ControlRecordType type = ControlRecordType.fromTypeId(typeId);
        JsonNode value = value(type, record);
        return new Json().put("type", type.name()).put("type_id", typeId).put("version", version)
            .raw("value", value == null ? "null" : value.toString()).toString();
    }

    /** Null where the value is null, too short, or of a version which Kafka does not know. */
    private static JsonNode value(ControlRecordType type, Record record) {
        if (record.value() == null)
            return null;
        try {
            if (type == ControlRecordType.ABORT || type == ControlRecordType.COMMIT)
                return JsonNodeFactory.instance.objectNode()
                    .put("coordinator_epoch", EndTransactionMarker.deserialize(record).coordinatorEpoch());
            return snakeCase(message(type, record));
        } catch (RuntimeException e) {
            return null;
        }
    }

    /** Every KRaft control message begins with its own version, an int16. */
    private static JsonNode message(ControlRecordType type, Record record) {
        ByteBuffer value = record.value();
        short version = value.getShort(value.position());
        // A later version may mean anything: the contract has null for it. ControlRecordUtils does not look.
        if (version < 0 || version > highestVersion(type))
            return null;
        switch (type) {
            case LEADER_CHANGE:
                // ControlRecordUtils reads version 0 only; the message class knows 1 (KIP-853) too.
                return LeaderChangeMessageJsonConverter.write(
                    new LeaderChangeMessage(new ByteBufferAccessor(value), version), version);
            case SNAPSHOT_HEADER:
                return SnapshotHeaderRecordJsonConverter.write(
                    ControlRecordUtils.deserializeSnapshotHeaderRecord(record), version);
            case SNAPSHOT_FOOTER:
                return SnapshotFooterRecordJsonConverter.write(
                    ControlRecordUtils.deserializeSnapshotFooterRecord(record), version);
            case KRAFT_VERSION:
                return KRaftVersionRecordJsonConverter.write(
                    ControlRecordUtils.deserializeKRaftVersionRecord(record), version);
            case KRAFT_VOTERS:
                return VotersRecordJsonConverter.write(
                    ControlRecordUtils.deserializeVotersRecord(record), version);
            default:
                return null;
        }
    }

    private static short highestVersion(ControlRecordType type) {
        switch (type) {
            case LEADER_CHANGE:
                return LeaderChangeMessage.HIGHEST_SUPPORTED_VERSION;
            case SNAPSHOT_HEADER:
                return SnapshotHeaderRecord.HIGHEST_SUPPORTED_VERSION;
            case SNAPSHOT_FOOTER:
                return SnapshotFooterRecord.HIGHEST_SUPPORTED_VERSION;
            case KRAFT_VERSION:
                return KRaftVersionRecord.HIGHEST_SUPPORTED_VERSION;
            case KRAFT_VOTERS:
                return VotersRecord.HIGHEST_SUPPORTED_VERSION;
            default:
                return -1;
        }
    }

    private static JsonNode snakeCase(JsonNode node) {
        if (node == null)
            return null;
        if (node.isArray()) {
            ArrayNode renamed = JsonNodeFactory.instance.arrayNode();
            node.forEach(item -> renamed.add(snakeCase(item)));
            return renamed;
        }
        if (!node.isObject())
            return node;
        ObjectNode renamed = JsonNodeFactory.instance.objectNode();
        node.properties().forEach(
            field -> renamed.set(snakeCase(field.getKey()), snakeCase(field.getValue())));
        return renamed;
    }

    private static String snakeCase(String camelCase) {
        return camelCase.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }
}
