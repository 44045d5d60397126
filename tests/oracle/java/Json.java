import java.nio.ByteBuffer;
import java.util.Base64;
import org.apache.kafka.common.utils.Utils;

/** One JSON object under construction: keys in the order of the calls, no spaces. */
final class Json {
    private final StringBuilder text = new StringBuilder("{");

    /** A value that is JSON already. */
    Json raw(String key, String json) {
        if (text.length() > 1)
            text.append(',');
        text.append(quote(key)).append(':').append(json);
        return this;
    }

    Json put(String key, String value) {
        return raw(key, value == null ? "null" : quote(value));
    }

    Json put(String key, Number value) {
        return raw(key, value == null ? "null" : value.toString());
    }

    Json put(String key, boolean value) {
        return raw(key, Boolean.toString(value));
    }

    Json put(String key, byte[] value) {
        return raw(key, value == null ? "null" : quote(Base64.getEncoder().encodeToString(value)));
    }

    Json put(String key, ByteBuffer value) {
        return put(key, value == null ? null : Utils.toArray(value));
    }

    @Override
    public String toString() {
        return text + "}";
    }

    static String quote(String value) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\')
                quoted.append('\\').append(c);
            else if (c < ' ')
                quoted.append(String.format("\\u%04x", (int) c));
            else
                quoted.append(c);
        }
        return quoted.append('"').toString();
    }
}
