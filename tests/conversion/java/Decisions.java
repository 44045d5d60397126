import java.io.DataInputStream;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/** What a cleaner decided, as the tests say it: by the batch, and the offsets of records that stay. */
final class Decisions {
    final long currentTime;
    final long deleteRetentionMs;
    private final byte[] kinds;
    private final boolean[] markersOfEmptyTransactions;
    private final Set<Long> retained = new HashSet<>();
    private int next;

    Decisions(DataInputStream in) throws IOException {
        currentTime = in.readLong();
        deleteRetentionMs = in.readLong();
        int batches = in.readInt();
        kinds = new byte[batches];
        markersOfEmptyTransactions = new boolean[batches];
        for (int i = 0; i < batches; i++) {
            kinds[i] = in.readByte();
            markersOfEmptyTransactions[i] = in.readBoolean();
        }
        int records = in.readInt();
        for (int i = 0; i < records; i++)
            retained.add(in.readLong());
    }

    /** The place of the next batch's decision; Kafka asks once a batch, in order. */
    int nextBatch() {
        return next++;
    }

    /** Ordinal of BatchRetention: DELETE, RETAIN_EMPTY, DELETE_EMPTY. */
    int kind(int batch) {
        return kinds[batch];
    }

    boolean containsMarkerForEmptyTxn(int batch) {
        return markersOfEmptyTransactions[batch];
    }

    boolean retains(long offset) {
        return retained.contains(offset);
    }
}
