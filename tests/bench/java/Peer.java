import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.kafka.common.utils.Utils;

/**
 * Kafka's own classes as a decoder: `Peer serve|once views|copied|file true|false PATH`.
 *
 * <p>`serve` answers every line on standard input with one pass over the segment, as a line of JSON; `once` does one
 * pass and ends. The boolean says whether CRCs are checked. The checksum is that of tests/bench/README.md.
 *
 * <ul>
 *   <li>`views`: MemoryRecords over an array; keys and values are views into it and nothing is kept.
 *   <li>`copied`: the same, with keys and values copied into arrays of their own, as a consumer hands them out.
 *   <li>`file`: FileRecords, which reads the file anew in every pass.
 * </ul>
 */
public final class Peer {
    // The copies of the last records stay reachable, or the compiler would see that nobody wants them.
    private static final int KEPT = 1024;

    private final String mode;
    private final boolean checked;
    private final Path path;
    private final ByteBuffer segment;
    private final byte[][] kept = new byte[KEPT][];
    private final BufferSupplier buffers = BufferSupplier.create();
    private long checksum;
    private long records;

    private Peer(String mode, boolean checked, Path path) throws IOException {
        this.mode = mode;
        this.checked = checked;
        this.path = path;
        this.segment = mode.equals("file") ? null : ByteBuffer.wrap(Files.readAllBytes(path));
    }

    public static void main(String[] arguments) throws IOException {
        Peer peer = new Peer(arguments[1], Boolean.parseBoolean(arguments[2]), Path.of(arguments[3]));
        if (arguments[0].equals("once")) {
            peer.pass();
            return;
        }
        System.out.println("{\"ready\": true}");
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            while (input.readLine() != null) {
                peer.pass();
            }
        }
    }

    private void pass() throws IOException {
        checksum = 0;
        records = 0;
        long started = System.nanoTime();
        if (mode.equals("file")) {
            try (FileRecords file = FileRecords.open(path.toFile())) {
                read(file.batches());
            }
        } else if (mode.equals("copied")) {
            readCopied(MemoryRecords.readableRecords(segment.duplicate()).batches());
        } else {
            read(MemoryRecords.readableRecords(segment.duplicate()).batches());
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        System.out.printf(Locale.ROOT, "{\"seconds\": %.6f, \"records\": %d, \"checksum\": %d}%n",
                seconds, records, checksum);
    }

    private void read(Iterable<? extends RecordBatch> batches) {
        for (RecordBatch batch : batches) {
            if (checked) {
                batch.ensureValid();
            }
            try (CloseableIterator<Record> iterator = batch.streamingIterator(buffers)) {
                while (iterator.hasNext()) {
                    add(iterator.next());
                }
            }
        }
    }

    private void add(Record record) {
        long sum = record.offset() + record.timestamp();
        if (record.keySize() > 0) {
            sum += record.keySize();
        }
        ByteBuffer value = record.value();
        if (value != null && value.remaining() > 0) {
            sum += value.get(value.position() + value.remaining() / 2) & 0xff;
        }
        checksum += sum + sumOf(record.headers());
        records++;
    }

    private void readCopied(Iterable<? extends RecordBatch> batches) {
        for (RecordBatch batch : batches) {
            if (checked) {
                batch.ensureValid();
            }
            try (CloseableIterator<Record> iterator = batch.streamingIterator(buffers)) {
                while (iterator.hasNext()) {
                    addCopied(iterator.next());
                }
            }
        }
    }

    private void addCopied(Record record) {
        long sum = record.offset() + record.timestamp();
        ByteBuffer keyView = record.key();
        if (keyView != null) {
            byte[] key = Utils.toArray(keyView);
            kept[(int) (2 * records) & (KEPT - 1)] = key;
            sum += key.length;
        }
        ByteBuffer valueView = record.value();
        if (valueView != null) {
            byte[] value = Utils.toArray(valueView);
            kept[(int) (2 * records + 1) & (KEPT - 1)] = value;
            sum += value.length == 0 ? 0 : value[value.length / 2] & 0xff;
        }
        checksum += sum + sumOf(record.headers());
        records++;
    }

    private static long sumOf(Header[] headers) {
        long sum = 0;
        for (Header header : headers) {
            sum += header.key().length();
            sum += header.value() == null ? 0 : header.value().length;
        }
        return sum;
    }
}
