package org.apache.kafka.clients.consumer.internals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.storage.internals.log.AbortedTxn;

/** A consumer with isolation.level=read_committed: the real CompletedFetch, over a segment. In its package. */
public final class Committed {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);

    /** The offsets of the records that an application is given, of what is below the last stable offset. */
    public static List<Long> offsets(FileRecords log, List<AbortedTxn> aborted, long lastStableOffset) throws IOException {
        int end = 0;
        long first = -1;
        long next = 0;
        for (FileChannelRecordBatch batch : log.batches()) {
            if (batch.baseOffset() >= lastStableOffset)
                break;
            if (first < 0)
                first = batch.baseOffset();
            end = batch.position() + batch.sizeInBytes();
            next = batch.nextOffset();
        }
        if (end == 0)
            return List.of();
        List<FetchResponseData.AbortedTransaction> overlapping = new ArrayList<>();
        for (AbortedTxn one : aborted)
            if (one.lastOffset() >= first && one.firstOffset() < next)
                overlapping.add(one.asAbortedTransaction());
        return fetched(log.slice(0, end), overlapping, first);
    }

    private static List<Long> fetched(FileRecords log, List<FetchResponseData.AbortedTransaction> aborted, long from) {
        LogContext context = new LogContext();
        SubscriptionState subscriptions = new SubscriptionState(context, AutoOffsetResetStrategy.EARLIEST);
        subscriptions.assignFromUser(Set.of(PARTITION));
        subscriptions.seek(PARTITION, from);
        FetchMetricsManager metrics = new FetchMetricsManager(new Metrics(), new FetchMetricsRegistry());
        FetchResponseData.PartitionData data = new FetchResponseData.PartitionData()
            .setPartitionIndex(0).setRecords(log).setAbortedTransactions(aborted);
        CompletedFetch fetch = new CompletedFetch(context.logger(Committed.class), subscriptions,
            BufferSupplier.create(), PARTITION, data, new FetchMetricsAggregator(metrics, Set.of(PARTITION)), from);
        FetchConfig config = new FetchConfig(1, Integer.MAX_VALUE, 0, Integer.MAX_VALUE, Integer.MAX_VALUE, true,
            "", IsolationLevel.READ_COMMITTED);
        Deserializers<byte[], byte[]> bytes = new Deserializers<>(new ByteArrayDeserializer(), new ByteArrayDeserializer(), null);
        List<Long> offsets = new ArrayList<>();
        List<ConsumerRecord<byte[], byte[]>> records;
        do {
            records = fetch.fetchRecords(config, bytes, Integer.MAX_VALUE);
            records.forEach(record -> offsets.add(record.offset()));
        } while (!records.isEmpty());
        return offsets;
    }
}
