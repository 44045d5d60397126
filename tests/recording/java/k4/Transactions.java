import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Committed, aborted, interleaved, fenced, and open at the end. */
final class Transactions {
    private Transactions() { }

    static void produce(String bootstrap) throws Exception {
        try (Kit.Sender a = Kit.transactional(bootstrap, "tx-a");
             Kit.Sender b = Kit.transactional(bootstrap, "tx-b", "compression.type", "lz4")) {
            a.producer.initTransactions();
            b.producer.initTransactions();
            for (int round = 0; round < 12; round++)
                interleave(a, b, round);
            try (Kit.Sender plain = Kit.idempotent(bootstrap)) {
                plain.send("transactions", Kit.T0 + 50, "plain", "idempotent, no transaction").flush();
            }
            a.producer.beginTransaction();
            a.send("transactions", Kit.T0 + 60, "fenced", "aborted by a newer tx-a").flush();
            offsets(bootstrap);
        }
    }

    /** Two producers with open transactions in the same partition; each third and fourth one is aborted. */
    private static void interleave(Kit.Sender a, Kit.Sender b, int round) {
        String topic = "transactions";
        long time = Kit.T0 + round;
        a.producer.beginTransaction();
        b.producer.beginTransaction();
        for (int i = 0; i < 3; i++)
            a.send(topic, 0, time, Kit.bytes("a" + round + "-" + i), Kit.text(120))
                .send(topic, 1, time, Kit.bytes("a" + round + "-" + i), Kit.bytes("partition 1"));
        a.flush();
        for (int i = 0; i < 3; i++)
            b.send(topic, 0, time, Kit.bytes("b" + round + "-" + i), Kit.text(120));
        b.flush();
        a.send(topic, 0, time, Kit.bytes("a" + round + "+"), Kit.text(60)).flush();
        if (round % 3 == 1)
            a.producer.abortTransaction();
        else
            a.producer.commitTransaction();
        if (round % 2 == 0)
            b.send(topic, 1, time, Kit.bytes("b late"), Kit.bytes("after the end of a")).flush();
        if (round % 4 == 2)
            b.producer.abortTransaction();
        else
            b.producer.commitTransaction();
    }

    /** Offsets of a group inside a transaction: once committed, once aborted. */
    private static void offsets(String bootstrap) {
        TopicPartition partition = new TopicPartition("multi", 0);
        ConsumerGroupMetadata group = new ConsumerGroupMetadata("g-transaction");
        try (Kit.Sender sender = Kit.transactional(bootstrap, "tx-a")) {
            sender.producer.initTransactions();
            sender.producer.beginTransaction();
            sender.send("transactions", Kit.T0 + 61, "a2", "v");
            sender.producer.sendOffsetsToTransaction(
                Map.of(partition, new OffsetAndMetadata(7, "committed")), group);
            sender.producer.commitTransaction();
            sender.producer.beginTransaction();
            sender.producer.sendOffsetsToTransaction(
                Map.of(partition, new OffsetAndMetadata(9, "aborted")), group);
            sender.producer.abortTransaction();
        }
    }

    /** Never ended: its records stay above the last stable offset, and others come after them. */
    static void leaveOpen(String bootstrap) {
        Kit.Sender open = Kit.transactional(bootstrap, "tx-open");
        open.producer.initTransactions();
        open.producer.beginTransaction();
        open.send("open-transaction", Kit.T0, "open", "never ended").flush();
        try (Kit.Sender plain = new Kit.Sender(bootstrap)) {
            plain.send("open-transaction", Kit.T0, "after", "beyond the last stable offset").flush();
        }
        open.producer.close(Duration.ZERO);
    }
}
