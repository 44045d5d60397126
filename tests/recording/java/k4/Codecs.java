/** The Java client, each codec: small records, a batch of one, values over 64 KiB that shrink or do not. */
final class Codecs {
    private Codecs() { }

    static void produce(String bootstrap) {
        for (String codec : Kit.CODECS)
            try (Kit.Sender sender = new Kit.Sender(bootstrap, "compression.type", codec)) {
                codec(sender, codec);
            }
        for (String codec : Kit.CODECS)
            try (Kit.Sender sender = new Kit.Sender(bootstrap, "compression.type", codec)) {
                // The broker's own compression.type wins over the producer's.
                for (String topic : new String[]{"recompressed", "uncompressed"}) {
                    for (int i = 0; i < 5; i++)
                        sender.send(topic, 0, Kit.T0 + i, Kit.bytes(codec), Kit.text(300 + i));
                    sender.flush();
                }
            }
    }

    private static void codec(Kit.Sender sender, String codec) {
        String topic = "codec-" + codec;
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 40; i++)
                sender.send(topic, 0, Kit.T0 + round * 100 + i, Kit.bytes("key-" + i),
                    Kit.bytes("{\"codec\":\"" + codec + "\",\"round\":" + round + ",\"i\":" + i + "}"),
                    Kit.header("trace", Kit.bytes("t" + i)));
            sender.flush();
        }
        sender.send(topic, Kit.T0 + 1000, "one", "a batch of one").flush();
        if (!codec.equals("none") && !codec.equals("gzip"))
            sender.send(topic, 0, Kit.T0 + 1001, Kit.bytes("noise"), Kit.noise(66_000, 3)).flush();
        sender.send(topic, 0, Kit.T0 + 1002, Kit.bytes("text"), Kit.text(66_000))
            .send(topic, Kit.T0 + 1003, "small", "after a big one").flush();
    }
}
