/** CreateTime in and out of order, at the edges of what other systems can hold; LogAppendTime. */
final class Timestamps {
    private static final long DAY = 86_400_000L;
    /** The last millisecond that still fits as microseconds into a signed 64-bit integer. */
    private static final long LAST_MICROS = Long.MAX_VALUE / 1000;

    private Timestamps() { }

    static void produce(String bootstrap) {
        long[] times = {Kit.T0, Kit.T0 - 1, Kit.T0 + DAY, Kit.T0 - 365 * DAY, 0, 1, Kit.T0, 4102444800000L,
            253402300799999L, 253402300800000L, 9007199254740993L, LAST_MICROS};
        try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
            together(sender, "timestamps", times);
            alone(sender, "timestamps", times);
            for (int i = 0; i < 2; i++)
                sender.send("timestamps", 0, "zero", "both records of this batch are at 0");
            sender.flush();
        }
        for (String codec : Kit.CODECS)
            try (Kit.Sender sender = new Kit.Sender(bootstrap, "compression.type", codec)) {
                for (int i = 0; i < 5; i++) {
                    long created = Kit.T0 - i * 1000;
                    sender.send("append-time", created, "k" + i, codec + ", created at " + created);
                }
                sender.flush();
            }
    }

    /** Beyond microseconds: a topic of its own, since no Spark timestamp can hold these. */
    static void extreme(String bootstrap) {
        long[] times = {Kit.T0, LAST_MICROS + 1, Long.MAX_VALUE / 2, 1L << 62, 0, Long.MAX_VALUE};
        try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
            alone(sender, "extreme", Kit.T0);
            together(sender, "extreme", times);
            alone(sender, "extreme", times);
        }
        try (Kit.Sender sender = new Kit.Sender(bootstrap, "compression.type", "lz4")) {
            together(sender, "extreme", times);
        }
    }

    private static void together(Kit.Sender sender, String topic, long... times) {
        for (long time : times)
            sender.send(topic, time, "together", "" + time);
        sender.flush();
    }

    private static void alone(Kit.Sender sender, String topic, long... times) {
        for (long time : times)
            sender.send(topic, time, "alone", "" + time).flush();
    }
}
