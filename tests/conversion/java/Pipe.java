import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Questions on standard input, answers on standard output, one process for many: see tests/conversion/kafka_classes.py. */
final class Pipe {
    /** Answers one question: an operation and what is behind it. */
    interface Answer {
        ByteBuffer to(byte operation, DataInputStream question) throws Exception;
    }

    private Pipe() { }

    /** Answers until standard input ends: 0 and the bytes, or 1 and what Kafka threw. */
    static void serve(Answer answer) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            byte operation;
            try {
                operation = in.readByte();
            } catch (EOFException e) {
                return;
            }
            try {
                send(out, 0, answer.to(operation, in));
            } catch (IOException e) {
                throw e;
            } catch (Exception | Error e) {
                send(out, 1, ByteBuffer.wrap((e.getClass().getSimpleName() + ": " + e.getMessage()).getBytes(StandardCharsets.UTF_8)));
            }
            out.flush();
        }
    }

    /** A length and as many bytes. */
    static ByteBuffer bytes(DataInputStream in) throws IOException {
        byte[] data = new byte[in.readInt()];
        in.readFully(data);
        return ByteBuffer.wrap(data);
    }

    private static void send(DataOutputStream out, int status, ByteBuffer data) throws IOException {
        byte[] copy = new byte[data.remaining()];
        data.duplicate().get(copy);
        out.writeByte(status);
        out.writeInt(copy.length);
        out.write(copy);
    }
}
