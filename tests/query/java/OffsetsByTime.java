import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogSegment;

/**
 * The offset that a broker finds for a time: of each line, a partition's directory, the log start offset and
 * times; as UnifiedLog.searchOffsetInLocalLog asks its segments, with the indexes that are there. -1 for none.
 */
public final class OffsetsByTime {
    private OffsetsByTime() { }

    public static void main(String[] args) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            List<LogSegment> segments = open(new File(words[0]));
            StringBuilder answer = new StringBuilder();
            for (int i = 2; i < words.length; i++)
                answer.append(find(segments, Long.parseLong(words[i]), Long.parseLong(words[1]))).append(' ');
            System.out.println(answer);
            for (LogSegment segment : segments)
                segment.close();
        }
    }

    private static List<LogSegment> open(File folder) throws IOException {
        List<LogSegment> segments = new ArrayList<>();
        String[] names = folder.list((directory, name) -> name.endsWith(".log"));
        Arrays.sort(names);
        for (String name : names) {
            long base = Long.parseLong(name.substring(0, name.indexOf('.')));
            LogConfig config = new LogConfig(Map.of());
            LogSegment segment = LogSegment.open(folder, base, config, Time.SYSTEM, true, 0, false, "");
            segment.sanityCheck(false);
            segments.add(segment);
        }
        return segments;
    }

    private static long find(List<LogSegment> segments, long timestamp, long start) throws IOException {
        for (LogSegment segment : segments)
            if (segment.largestTimestamp() >= timestamp)
                return segment.findOffsetByTimestamp(timestamp, start).map(found -> found.offset).orElse(-1L);
        return -1;
    }
}
