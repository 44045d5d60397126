import java.util.Arrays;

/** Several segments, several partitions, preallocation, and what comes after a restart. */
final class Segments {
    private Segments() { }

    static void produce(String bootstrap) {
        try (Kit.Sender sender = Kit.idempotent(bootstrap, "compression.type", "zstd")) {
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 9; i++)
                    sender.send("idempotent", i % 3, Kit.T0 + round * 10 + i,
                        Kit.bytes("k" + i), Kit.bytes("round " + round));
                sender.flush();
            }
        }
        try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
            for (int round = 0; round < 40; round++) {
                for (int i = 0; i < 5; i++)
                    sender.send("multi", 0, Kit.T0 + round * 1000 + i,
                        Kit.bytes("m" + round + "-" + i), Kit.text(100 + i));
                sender.flush();
            }
            for (int i = 0; i < 30; i++)
                sender.send("deleted-head", 0, Kit.T0 + i, Kit.bytes("d" + i), Kit.text(300)).flush();
            sender.send("doomed", Kit.T0, "k", "of a topic that is being deleted").flush();
        }
    }

    /** A few small batches, one a flush. */
    static void few(String bootstrap, String topic) {
        try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
            for (int i = 0; i < 3; i++)
                sender.send(topic, 0, Kit.T0 + i, Kit.bytes("p" + i), Kit.text(400)).flush();
        }
    }

    /** More records in a new leader epoch. */
    static void again(String bootstrap, String... topics) {
        try (Kit.Sender sender = new Kit.Sender(bootstrap, "compression.type", "gzip")) {
            for (String topic : Arrays.asList(topics))
                for (int round = 0; round < 2; round++) {
                    for (int i = 0; i < 3; i++)
                        sender.send(topic, Kit.T0 + 200_000 + round * 10 + i, "again" + i, "after a restart");
                    sender.flush();
                }
        }
        try (Kit.Sender sender = Kit.idempotent(bootstrap)) {
            sender.send("idempotent", Kit.T0 + 200_000, "k", "again").flush();
        }
    }
}
