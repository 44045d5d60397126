/**
 * What the log cleaner has something to do with: superseded records, tombstones, batches of which nothing is
 * left, transaction markers without their records.
 */
final class Compaction {
    private Compaction() { }

    static void produce(String bootstrap, String... topics) {
        for (String topic : topics) {
            for (int round = 0; round < 6; round++)
                supersede(bootstrap, topic, round);
            tombstones(bootstrap, topic);
            transactions(bootstrap, topic);
            try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
                sender.send(topic, Kit.T0 + 40_000, "key8", "alive again").flush();
            }
        }
    }

    /** A segment's worth of keys, and all of them again: nothing is left of the first segment. */
    static void emptied(String bootstrap, String topic) {
        try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
            for (int round = 0; round < 2; round++) {
                for (int i = 0; i < 6; i++)
                    sender.send(topic, 0, Kit.T0 + round, Kit.bytes("key" + i), Kit.text(120));
                sender.flush();
            }
        }
    }

    /** A producer for each round: its last batch, wholly superseded, is kept empty for its sequence. */
    private static void supersede(String bootstrap, String topic, int round) {
        long time = Kit.T0 + round * 1000;
        String codec = Kit.CODECS[round % Kit.CODECS.length];
        try (Kit.Sender sender = Kit.idempotent(bootstrap, "compression.type", codec)) {
            for (int i = 0; i < 20; i++)
                sender.send(topic, 0, time + i, Kit.bytes("key" + i % 10),
                    Kit.bytes("round " + round + " value " + i), Kit.header("round", Kit.bytes("" + round)));
            sender.flush();
            for (int i = 0; i < 3; i++)
                sender.send(topic, time + 100 + i, "once-" + round + "-" + i, "kept");
            if (round % 2 == 0)
                sender.flush();
            sender.send(topic, time + 200, "key1", "last of " + round)
                .send(topic, time + 201, "key2", "last of " + round).flush();
        }
    }

    private static void tombstones(String bootstrap, String topic) {
        try (Kit.Sender sender = new Kit.Sender(bootstrap, "compression.type", "zstd")) {
            sender.send(topic, Kit.T0 + 20_000, "key3", null)
                .send(topic, Kit.T0 + 20_001, "key4", null).flush();
            sender.send(topic, Kit.T0 + 20_002, "key5", null)
                .send(topic, Kit.T0 + 20_003, "key6", "alive").flush();
        }
    }

    private static void transactions(String bootstrap, String topic) {
        try (Kit.Sender sender = Kit.transactional(bootstrap, "tx-" + topic)) {
            sender.producer.initTransactions();
            sender.producer.beginTransaction();
            sender.send(topic, Kit.T0 + 30_000, "key7", "committed")
                .send(topic, Kit.T0 + 30_001, "key8", "superseded");
            sender.producer.commitTransaction();
            sender.producer.beginTransaction();
            sender.send(topic, Kit.T0 + 30_002, "key7", "ABORTED");
            sender.producer.abortTransaction();
            sender.producer.beginTransaction();
            sender.send(topic, Kit.T0 + 30_003, "key8", null);
            sender.producer.commitTransaction();
            sender.producer.beginTransaction();
            sender.send(topic, Kit.T0 + 30_004, "key9", "ABORTED, too");
            sender.producer.abortTransaction();
        }
    }

    /**
     * Rolls the active segments, so that the cleaner may have them: segment.ms is measured on the records'
     * own CreateTime, so a record of now rolls a segment that began a second earlier.
     */
    static void push(String bootstrap, String... topics) {
        try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
            for (String topic : topics)
                sender.send(topic, System.currentTimeMillis(), "push", "rolls the segment").flush();
        }
    }
}
