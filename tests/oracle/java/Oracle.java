import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * Kafka's own reading of segment files: the batch and record lines of `kafka-segments dump --format jsonl`.
 *
 * <pre>Oracle FILE...              every line to standard output
 * Oracle --out DIR FILE...    the lines of FILE to DIR/FILE.jsonl</pre>
 *
 * Where Kafka throws, that part is left out, the message goes to standard error and the exit status is 1.
 * Batches are checked (ensureValid) before their records are read, as a consumer does.
 */
public final class Oracle {
    private static final int BASE_TIMESTAMP_OFFSET = Lines.baseTimestampOffset();

    private final String path;
    private final PrintStream out;
    private boolean failed;

    private Oracle(String path, PrintStream out) {
        this.path = path;
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        boolean each = args.length > 0 && args[0].equals("--out");
        boolean failed = false;
        if (each) {
            for (int i = 2; i < args.length; i++) {
                Path target = Path.of(args[1], args[i] + ".jsonl");
                Files.createDirectories(target.getParent());
                try (PrintStream out = stream(new FileOutputStream(target.toFile()))) {
                    failed |= read(args[i], out);
                }
            }
        } else {
            PrintStream out = stream(System.out);
            for (String arg : args)
                failed |= read(arg, out);
            out.flush();
        }
        System.exit(failed ? 1 : 0);
    }

    private static PrintStream stream(OutputStream target) {
        return new PrintStream(new BufferedOutputStream(target, 1 << 16), false, StandardCharsets.UTF_8);
    }

    private static boolean read(String path, PrintStream out) {
        Oracle oracle = new Oracle(path, out);
        try (FileRecords records = FileRecords.open(new File(path), false)) {
            oracle.readAll(records);
        } catch (Exception e) {
            oracle.complain(0, e);
        }
        return oracle.failed;
    }

    private void readAll(FileRecords records) throws IOException {
        Iterator<FileChannelRecordBatch> batches = records.batches().iterator();
        int position = 0;
        while (true) {
            FileChannelRecordBatch batch;
            try {
                if (!batches.hasNext())
                    break;
                batch = batches.next();
            } catch (RuntimeException e) {
                // Preallocated space reads as a batch of size 0: Kafka throws there too, but nothing is lost.
                if (!onlyZeros(records, position))
                    complain(position, e);
                return;
            }
            position = batch.position() + batch.sizeInBytes();
            try {
                readBatch(records, batch);
            } catch (RuntimeException e) {
                complain(batch.position(), e);
            }
        }
    }

    private void readBatch(FileRecords records, FileChannelRecordBatch batch) throws IOException {
        List<String> lines = new ArrayList<>();
        Throwable broken = null;
        Long first = null;
        try {
            batch.ensureValid();
            try (CloseableIterator<Record> iterator = batch.streamingIterator(BufferSupplier.NO_CACHING)) {
                while (iterator.hasNext()) {
                    Record record = iterator.next();
                    first = first == null ? record.offset() : first;
                    lines.add(lineOf(batch, record));
                }
            }
        } catch (RuntimeException | Error e) {
            // Errors too: snappy-java has some for bad lengths, and Kafka allocates what bad lengths ask for.
            broken = e;
        }
        Long baseTimestamp = null;
        Integer count = lines.size();
        if (batch.magic() >= RecordBatch.MAGIC_VALUE_V2) {
            baseTimestamp = baseTimestamp(records, batch);
            first = batch.baseOffset();
            count = batch.countOrNull();
        } else if (broken != null) {
            first = null;
            count = null;
        }
        out.println(Lines.batch(path, batch, baseTimestamp, first, count));
        for (String line : lines)
            if (line != null)
                out.println(line);
        if (broken != null)
            complain(batch.position(), broken);
    }

    /** Null, and a complaint, for a legacy message with a wrong checksum: iterating does not check it. */
    private String lineOf(FileChannelRecordBatch batch, Record record) {
        try {
            record.ensureValid();
        } catch (RuntimeException e) {
            complain(batch.position(), e);
            return null;
        }
        return Lines.record(path, batch, record);
    }

    private static long baseTimestamp(FileRecords records, FileChannelRecordBatch batch) throws IOException {
        ByteBuffer field = ByteBuffer.allocate(Long.BYTES);
        records.readInto(field, batch.position() + BASE_TIMESTAMP_OFFSET);
        return field.getLong();
    }

    private static boolean onlyZeros(FileRecords records, int position) throws IOException {
        ByteBuffer tail = ByteBuffer.allocate(records.sizeInBytes() - position);
        records.readInto(tail, position);
        while (tail.hasRemaining())
            if (tail.get() != 0)
                return false;
        return true;
    }

    private void complain(int position, Throwable e) {
        failed = true;
        StringBuilder message = new StringBuilder(path + ", position " + position);
        for (Throwable cause = e; cause != null; cause = cause.getCause())
            message.append(String.format(": %s: %s", cause.getClass().getSimpleName(), cause.getMessage()));
        System.err.println(message);
    }
}
