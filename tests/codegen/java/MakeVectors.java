import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.utils.ByteUtils;

/**
 * Writes those vectors of tests/vectors/<schema>/ that no broker was made to write, with Kafka's own classes.
 * Argument: the folder tests/vectors. What is expected of them stands in the .toml files, written by hand.
 */
public final class MakeVectors {
    private static Path folder;

    public static void main(String[] arguments) throws IOException {
        folder = Path.of(arguments[0]);
        write("kafka_varint/two_bytes", buffer -> ByteUtils.writeVarint(300, buffer));
        write("kafka_varint/least", buffer -> ByteUtils.writeVarint(Integer.MIN_VALUE, buffer));
        write("kafka_varint/greatest", buffer -> ByteUtils.writeVarint(Integer.MAX_VALUE, buffer));
        write("kafka_varlong/delta_to_a_delete_horizon", buffer -> ByteUtils.writeVarlong(-95253548407L, buffer));
        write("kafka_varlong/least", buffer -> ByteUtils.writeVarlong(Long.MIN_VALUE, buffer));
        write("kafka_varlong/greatest", buffer -> ByteUtils.writeVarlong(Long.MAX_VALUE, buffer));
        write("kafka_unsigned_varint/two_bytes", buffer -> ByteUtils.writeUnsignedVarint(300, buffer));
        write("kafka_unsigned_varint/greatest", buffer -> ByteUtils.writeUnsignedVarint(-1, buffer));
        write("kafka_control_record_key/kraft_voters", buffer -> buffer.put(ControlRecordType.KRAFT_VOTERS.recordKey()));
        write("kafka_control_record_value/leader_change_v1", message(leaderChange(), (short) 1));
        write("kafka_tagged_fields/two_fields", taggedFields());
    }

    private static LeaderChangeMessage leaderChange() {
        LeaderChangeMessage.Voter three = new LeaderChangeMessage.Voter().setVoterId(3).setVoterDirectoryId(new Uuid(1, 2));
        LeaderChangeMessage.Voter four = new LeaderChangeMessage.Voter().setVoterId(4).setVoterDirectoryId(new Uuid(3, 4));
        LeaderChangeMessage message = new LeaderChangeMessage().setVersion((short) 1).setLeaderId(3)
            .setVoters(List.of(three, four)).setGrantingVoters(List.of(three.duplicate()));
        four.unknownTaggedFields().add(new RawTaggedField(7, new byte[] {1, 2, 3}));
        return message;
    }

    /** What follows the version in a footer: it has no other fields. */
    private static Consumer<ByteBuffer> taggedFields() {
        SnapshotFooterRecord footer = new SnapshotFooterRecord().setVersion((short) 0);
        footer.unknownTaggedFields().add(new RawTaggedField(5, new byte[] {0x2a}));
        footer.unknownTaggedFields().add(new RawTaggedField(300, new byte[0]));
        ByteBuffer bytes = MessageUtil.toByteBufferAccessor(footer, (short) 0).buffer();
        bytes.position(Short.BYTES);
        return buffer -> buffer.put(bytes);
    }

    private static Consumer<ByteBuffer> message(Message message, short version) {
        return buffer -> buffer.put(MessageUtil.toByteBufferAccessor(message, version).buffer());
    }

    private static void write(String name, Consumer<ByteBuffer> put) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(1024);
        put.accept(buffer);
        Path file = folder.resolve(name + ".bin");
        Files.createDirectories(file.getParent());
        byte[] bytes = new byte[buffer.position()];
        buffer.flip().get(bytes);
        Files.write(file, bytes);
    }
}
