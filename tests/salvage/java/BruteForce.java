import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Records;

/**
 * Every batch with a right checksum in a file, wherever it begins: at each byte Kafka's own classes are given what
 * the length there says. A path a line on standard input; a line of `position:size` pairs on standard output.
 */
public final class BruteForce {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine())
            out.println(batches(ByteBuffer.wrap(Files.readAllBytes(Path.of(line)))));
    }

    private static String batches(ByteBuffer data) {
        StringBuilder found = new StringBuilder();
        for (int position = 0; position + Records.HEADER_SIZE_UP_TO_MAGIC <= data.limit(); position++) {
            long size = (long) data.getInt(position + Records.SIZE_OFFSET) + Records.LOG_OVERHEAD;
            int magic = data.get(position + Records.MAGIC_OFFSET);
            boolean isPossible = size >= Records.HEADER_SIZE_UP_TO_MAGIC && position + size <= data.limit();
            if (isPossible && magic >= 0 && magic <= 2 && isValid(data.slice(position, (int) size)))
                found.append(found.isEmpty() ? "" : " ").append(position).append(':').append(size);
        }
        return found.toString();
    }

    private static boolean isValid(ByteBuffer slice) {
        try {
            MutableRecordBatch batch = MemoryRecords.readableRecords(slice).batches().iterator().next();
            batch.ensureValid();
            return batch.sizeInBytes() == slice.limit();
        } catch (RuntimeException error) {
            return false;
        }
    }
}
