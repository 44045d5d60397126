import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** Decodes each line of hexadecimal bytes as RecordHeader.key() does, and prints the UTF-16 units as hexadecimal. */
public final class HeaderText {
    public static void main(String[] arguments) throws Exception {
        HexFormat hex = HexFormat.of();
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        var out = new PrintStream(new java.io.BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.US_ASCII);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String text = new String(hex.parseHex(line), StandardCharsets.UTF_8);
            out.println(hex.formatHex(text.getBytes(StandardCharsets.UTF_16BE)));
        }
        out.flush();
    }
}
