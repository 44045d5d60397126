import io.kaitai.struct.ByteBufferKaitaiStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;

/** Prints segments and varints as ../reference.py describes. */
public final class Read {
    private static final StringBuilder OUT = new StringBuilder();

    private static String text(byte[] data) {
        return data == null ? "-" : data.length == 0 ? "." : HexFormat.of().formatHex(data);
    }

    private static int flag(boolean value) {
        return value ? 1 : 0;
    }

    private static String compression(KafkaRecordBatchV2.Compression found) {
        return found == null ? "?" : String.valueOf(found.id());
    }

    private static String control(KafkaRecord.RecordBody body) {
        try {
            KafkaControlRecordKey key = body.controlKey();
            KafkaControlRecordKey.ControlRecordType type = key.recordType();
            String kind = type == null ? "?" : String.valueOf(type.id());
            String detail = "-";
            if (type != null && type.id() <= 2 && body.lenValue().value() >= 0) {
                Object content = body.controlValue().content();
                detail = content instanceof KafkaControlRecordValue.LeaderChangeMessage change
                    ? String.valueOf(change.leaderId())
                    : String.valueOf(((KafkaControlRecordValue.EndTxnMarker) content).coordinatorEpoch());
            }
            return "control " + key.version() + " " + kind + " " + detail;
        } catch (RuntimeException | OutOfMemoryError error) {
            return "control error";
        }
    }

    private static void record(KafkaRecord.RecordBody body) {
        OUT.append("record ").append(body.offset()).append(' ').append(body.timestamp()).append(' ')
            .append(body.sequence()).append(' ').append(text(body.lenKey().value() >= 0 ? body.key() : null))
            .append(' ').append(text(body.lenValue().value() >= 0 ? body.value() : null));
        for (KafkaRecordHeader header : body.headers()) {
            OUT.append(' ').append(HexFormat.of().formatHex(header.key())).append('=')
                .append(text(header.lenValue().value() >= 0 ? header.value() : null));
        }
        OUT.append('\n');
        if (body.isControlRecord()) {
            OUT.append(control(body)).append('\n');
        }
    }

    private static void batch(KafkaRecordBatchV2 batch) {
        KafkaRecordBatchV2.BatchAttributes bits = batch.attributes();
        Object[] values = {
            "batch", batch.partitionLeaderEpoch(), batch.crc(), compression(bits.compression()),
            bits.timestampType().id(), flag(bits.isTransactional()), flag(bits.isControl()),
            flag(bits.hasDeleteHorizon()), batch.lastOffsetDelta(), batch.baseTimestamp(), batch.maxTimestamp(),
            batch.producerId(), batch.producerEpoch(), batch.baseSequence(), batch.numRecords(),
            batch.payload().length};
        OUT.append(String.join(" ", Arrays.stream(values).map(String::valueOf).toList())).append('\n');
        if (bits.compression() == KafkaRecordBatchV2.Compression.NONE) {
            for (KafkaRecord record : batch.records()) {
                record(record.body());
            }
        }
    }

    private static void message(KafkaMessageLegacy found) {
        KafkaMessageLegacy.Compression codec = found.header().attributes().compression();
        OUT.append("message ").append(found.offset()).append(' ').append(found.timestampValue()).append(' ')
            .append(found.timestampType()).append(' ').append(found.header().crc()).append(' ')
            .append(codec == null ? "?" : String.valueOf(codec.id())).append(' ')
            .append(text(found.lenKey() >= 0 ? found.key() : null)).append(' ')
            .append(text(found.lenValue() >= 0 ? found.value() : null)).append('\n');
    }

    private static void segment(byte[] data) {
        for (KafkaLogSegment.Entry entry : new KafkaLogSegment(new ByteBufferKaitaiStream(data)).entries()) {
            if (entry.isPadding()) {
                OUT.append("padding ").append(entry.padding().length).append('\n');
            } else if (!entry.isComplete()) {
                OUT.append("partial ").append(entry.partial().length).append('\n');
            } else {
                OUT.append("entry ").append(entry.baseOffset()).append(' ').append(entry.lenBody()).append(' ')
                    .append(entry.body().magic()).append('\n');
                try {
                    Object content = entry.body().content();
                    if (content instanceof KafkaRecordBatchV2 batch) {
                        batch(batch);
                    } else if (content instanceof KafkaMessageLegacy message) {
                        message(message);
                    }
                } catch (RuntimeException | OutOfMemoryError error) {  // room is made before bytes are counted
                    OUT.append("error\n");
                }
            }
        }
    }

    private static String varint(int kind, byte[] data) {
        ByteBufferKaitaiStream stream = new ByteBufferKaitaiStream(data);
        try {
            if (kind == 0) {
                KafkaVarint found = new KafkaVarint(stream);
                return found.value() + " " + found.len();
            }
            if (kind == 1) {
                KafkaVarlong found = new KafkaVarlong(stream);
                return found.value() + " " + found.len();
            }
            KafkaUnsignedVarint found = new KafkaUnsignedVarint(stream);
            return found.value() + " " + found.len();
        } catch (RuntimeException error) {
            return "error";
        }
    }

    public static void main(String[] files) throws Exception {
        for (int index = 0; index < files.length; index++) {
            OUT.append("file ").append(index).append('\n');
            byte[] data = Files.readAllBytes(Path.of(files[index]));
            if (files[index].endsWith(".varints")) {
                for (int at = 0; at < data.length; at += 2 + data[at + 1]) {
                    byte[] bytes = Arrays.copyOfRange(data, at + 2, at + 2 + data[at + 1]);
                    OUT.append("varint ").append(data[at]).append(' ').append(varint(data[at], bytes)).append('\n');
                }
            } else {
                segment(data);
            }
        }
        new PrintStream(System.out, true).print(OUT);
    }
}
