package org.apache.kafka.storage.internals.log;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The entries of a producer snapshot. In the package of ProducerStateEntry, which shows some of it there only. */
public final class Snapshots {
    public static List<String> read(File file) throws IOException {
        List<String> words = new ArrayList<>();
        for (ProducerStateEntry entry : ProducerStateManager.readSnapshot(file))
            words.add(entry.producerId() + " " + entry.producerEpoch() + " " + entry.lastSeq() + " "
                + entry.lastDataOffset() + " " + entry.lastOffsetDelta() + " " + entry.lastTimestamp() + " "
                + entry.coordinatorEpoch() + " " + entry.currentTxnFirstOffset().orElse(-1L));
        return words;
    }
}
