import java.util.Arrays;

/** `java Step BOOTSTRAP STEP [ARGUMENT...]`: one step of a recording; kafka43.py says when. */
public final class Step {
    private Step() { }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        String[] rest = Arrays.copyOfRange(args, 2, args.length);
        switch (args[1]) {
            case "create" -> Topics.create(bootstrap, rest);
            case "configure" -> Topics.configure(bootstrap, rest[0], rest[1], rest[2].split(","));
            case "delete" -> Topics.delete(bootstrap, rest[0]);
            case "delete-records" -> Topics.deleteRecords(bootstrap, rest[0], Long.parseLong(rest[1]));
            case "codecs" -> Codecs.produce(bootstrap);
            case "shapes" -> Shapes.produce(bootstrap);
            case "timestamps" -> Timestamps.produce(bootstrap);
            case "extreme-timestamps" -> Timestamps.extreme(bootstrap);
            case "segments" -> Segments.produce(bootstrap);
            case "few" -> Segments.few(bootstrap, rest[0]);
            case "again" -> Segments.again(bootstrap, rest);
            case "transactions" -> Transactions.produce(bootstrap);
            case "open-transaction" -> Transactions.leaveOpen(bootstrap);
            case "groups" -> Groups.run(bootstrap);
            case "compaction" -> Compaction.produce(bootstrap, rest);
            case "emptied" -> Compaction.emptied(bootstrap, rest[0]);
            case "push" -> Compaction.push(bootstrap, rest);
            default -> throw new IllegalArgumentException("no such step: " + args[1]);
        }
    }
}
