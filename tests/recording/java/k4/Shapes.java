import org.apache.kafka.common.header.Header;

/** Null, empty, binary, many: keys, values and headers of every shape. */
final class Shapes {
    private Shapes() { }

    static void produce(String bootstrap) {
        for (String codec : new String[]{"none", "gzip", "zstd"})
            try (Kit.Sender sender = new Kit.Sender(bootstrap, "compression.type", codec)) {
                String topic = codec.equals("none") ? "shapes" : "shapes-" + codec;
                keysAndValues(sender, topic);
                headers(sender, topic);
                sender.flush();
            }
        // Names that a reader could take for something else.
        try (Kit.Sender sender = new Kit.Sender(bootstrap)) {
            for (String topic : new String[]{"007", "dots.and-3", "null"})
                sender.send(topic, Kit.T0, "k", "in " + topic).flush();
        }
    }

    private static void keysAndValues(Kit.Sender sender, String topic) {
        sender.send(topic, Kit.T0, "k", "v")
            .send(topic, Kit.T0 + 1, null, "null key")
            .send(topic, Kit.T0 + 2, "", "empty key")
            .send(topic, Kit.T0 + 3, "tombstone", null)
            .send(topic, Kit.T0 + 4, "empty value", "")
            .send(topic, Kit.T0 + 5, null, null)
            .send(topic, Kit.T0 + 6, "", "")
            .send(topic, 0, Kit.T0 + 7, Kit.noise(64, 1), Kit.noise(64, 2))
            .send(topic, Kit.T0 + 8, "\u00fcn\u00efc\u00f6de", "{\"a\":\"\u4e2d\"}");
        // Lengths around the places where a zigzag varint grows by a byte.
        for (int size : new int[]{63, 64, 8191, 8192})
            sender.send(topic, 0, Kit.T0 + 9, Kit.bytes("" + size), Kit.text(size));
    }

    private static void headers(Kit.Sender sender, String topic) {
        byte[] value = Kit.bytes("v");
        sender.send(topic, 0, Kit.T0 + 20, Kit.bytes("duplicates"), value, Kit.header("a", Kit.bytes("1")),
            Kit.header("a", Kit.bytes("2")), Kit.header("b", Kit.bytes("3")),
            Kit.header("a", Kit.bytes("1")));
        sender.send(topic, 0, Kit.T0 + 21, Kit.bytes("empty key"), value,
            Kit.header("", Kit.bytes("x")), Kit.header("", null), Kit.header("", new byte[0]));
        sender.send(topic, 0, Kit.T0 + 22, Kit.bytes("null and empty value"), value,
            Kit.header("n", null), Kit.header("e", new byte[0]));
        sender.send(topic, 0, Kit.T0 + 23, Kit.bytes("binary"), value, Kit.header("bin", Kit.noise(300, 7)),
            Kit.header("zeros", new byte[5]),
            Kit.header("\u00e9\u4e2d\ud83d\ude00", new byte[]{(byte) 0xff, (byte) 0xfe}));
        Header[] many = new Header[130];
        for (int i = 0; i < many.length; i++)
            many[i] = Kit.header("h" + i, Kit.bytes("" + i));
        sender.send(topic, 0, Kit.T0 + 24, Kit.bytes("130 headers"), value, many);
    }
}
