import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * Runs Kafka's DumpLogSegments many times in one JVM: `java Dumps LIST FOLDER`.
 *
 * A line of LIST holds the arguments of one run, separated by tabs. Its standard output becomes
 * FOLDER/number.out, its standard error FOLDER/number.err, its exit status FOLDER/number.status.
 */
public class Dumps {
    private static final class Ended extends RuntimeException {
        private final int status;

        private Ended(int status) {
            super(null, null, false, false);
            this.status = status;
        }
    }

    public static void main(String[] args) throws IOException {
        Exit.setExitProcedure((status, message) -> {
            throw new Ended(status);
        });
        PrintStream out = System.out;
        PrintStream err = System.err;
        List<String> runs = Files.readAllLines(Path.of(args[0]), StandardCharsets.UTF_8);
        for (int number = 0; number < runs.size(); number++) {
            Path folder = Path.of(args[1]);
            try (PrintStream newOut = stream(folder.resolve(number + ".out"));
                    PrintStream newErr = stream(folder.resolve(number + ".err"))) {
                System.setOut(newOut);
                System.setErr(newErr);
                int status = run(runs.get(number));
                Files.writeString(folder.resolve(number + ".status"), Integer.toString(status));
            } finally {
                System.setOut(out);
                System.setErr(err);
            }
        }
    }

    private static PrintStream stream(Path path) throws IOException {
        return new PrintStream(
            new BufferedOutputStream(new FileOutputStream(path.toFile()), 1 << 16), false, StandardCharsets.UTF_8);
    }

    private static int run(String line) {
        try {
            DumpLogSegments.main(line.isEmpty() ? new String[0] : line.split("\t", -1));
            return 0;
        } catch (Ended ended) {
            return ended.status;
        } catch (Throwable error) {
            error.printStackTrace(System.err);
            return 1;
        }
    }
}
