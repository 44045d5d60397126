import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.function.ToLongFunction;
import org.apache.kafka.common.utils.ByteUtils;

/**
 * What Kafka's own ByteUtils makes of bytes. Standard input: bytes in hexadecimal, one string a line. Standard output:
 * for each, what readVarint, readVarlong and readUnsignedVarint make of it, separated by blanks: "value/bytes used",
 * "error" for an exception that says so, "end" if there are too few bytes.
 */
public final class ReadVarints {
    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            byte[] bytes = HexFormat.of().parseHex(line);
            System.out.println(verdict(bytes, ByteUtils::readVarint)
                + " " + verdict(bytes, ByteUtils::readVarlong)
                + " " + verdict(bytes, buffer -> Integer.toUnsignedLong(ByteUtils.readUnsignedVarint(buffer))));
        }
    }

    private static String verdict(byte[] bytes, ToLongFunction<ByteBuffer> read) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        try {
            long value = read.applyAsLong(buffer);
            return value + "/" + buffer.position();
        } catch (IllegalArgumentException error) {
            return "error";
        } catch (BufferUnderflowException error) {
            return "end";
        }
    }
}
