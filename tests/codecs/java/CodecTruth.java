import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.zip.CRC32;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * What Kafka's own classes make of compressed payloads. Standard input has a line each: codec, magic, payload in hex.
 * Standard output has a line each: "ok", size and CRC-32 of what came out, or "error" and why.
 */
public final class CodecTruth {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false);
        String line;
        while ((line = lines.readLine()) != null) {
            String[] fields = line.split(" ", -1);
            out.println(verdict(fields[0], Byte.parseByte(fields[1]), HexFormat.of().parseHex(fields[2])));
        }
        out.flush();
    }

    private static String verdict(String codec, byte magic, byte[] payload) {
        try (InputStream stream = Compression.of(CompressionType.forName(codec)).build()
                .wrapForInput(ByteBuffer.wrap(payload), magic, BufferSupplier.NO_CACHING)) {
            CRC32 crc = new CRC32();
            long size = 0;
            // One byte at a time, as DefaultRecord reads the varints and RecordIterator looks for what is left.
            for (int next = stream.read(); next != -1; next = stream.read()) {
                crc.update(next);
                size++;
            }
            return "ok " + size + " " + crc.getValue();
        } catch (Throwable error) {  // SnappyError is no Exception
            return "error " + String.valueOf(error).replace('\n', ' ');
        }
    }
}
