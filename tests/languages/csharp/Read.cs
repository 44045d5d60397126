// Prints segments and varints as ../reference.py describes.
using System;
using System.IO;
using System.Linq;
using System.Text;
using Kaitai;

public static class Read
{
    private static readonly StringBuilder Out = new StringBuilder();

    private static string Hex(byte[] data)
    {
        return string.Concat(data.Select(one => one.ToString("x2")));
    }

    private static string Text(byte[] data)
    {
        return data == null ? "-" : data.Length == 0 ? "." : Hex(data);
    }

    private static void Line(params object[] words)
    {
        Out.Append(string.Join(" ", words)).Append('\n');
    }

    private static int Flag(bool value)
    {
        return value ? 1 : 0;
    }

    private static string Known(int number, int count)
    {
        return number >= 0 && number < count ? number.ToString() : "?";
    }

    private static string Control(KafkaRecord.RecordBody body)
    {
        try
        {
            KafkaControlRecordKey key = body.ControlKey;
            int kind = (int)key.RecordType;
            object detail = "-";
            if (kind >= 0 && kind <= 2 && body.LenValue.Value >= 0)
            {
                object content = body.ControlValue.Content;
                if (kind == 2) detail = ((KafkaControlRecordValue.LeaderChangeMessage)content).LeaderId;
                else detail = ((KafkaControlRecordValue.EndTxnMarker)content).CoordinatorEpoch;
            }
            return "control " + key.Version + " " + Known(kind, 7) + " " + detail;
        }
        catch (Exception)
        {
            return "control error";
        }
    }

    private static void Record(KafkaRecord.RecordBody body)
    {
        string headers = string.Concat(body.Headers.Select(header =>
            " " + Hex(header.Key) + "=" + Text(header.LenValue.Value >= 0 ? header.Value : null)));
        Line("record", body.Offset, body.Timestamp, body.Sequence, Text(body.LenKey.Value >= 0 ? body.Key : null),
            Text(body.LenValue.Value >= 0 ? body.Value : null) + headers);
        if (body.IsControlRecord) Line(Control(body));
    }

    private static void Batch(KafkaRecordBatchV2 batch)
    {
        KafkaRecordBatchV2.BatchAttributes bits = batch.Attributes;
        Line("batch", batch.PartitionLeaderEpoch, batch.Crc, Known((int)bits.Compression, 5),
            (int)bits.TimestampType, Flag(bits.IsTransactional), Flag(bits.IsControl), Flag(bits.HasDeleteHorizon),
            batch.LastOffsetDelta, batch.BaseTimestamp, batch.MaxTimestamp, batch.ProducerId, batch.ProducerEpoch,
            batch.BaseSequence, batch.NumRecords, batch.Payload.Length);
        if (bits.Compression == KafkaRecordBatchV2.Compression.None)
        {
            foreach (KafkaRecord record in batch.Records) Record(record.Body);
        }
    }

    private static void Message(KafkaMessageLegacy found)
    {
        Line("message", found.Offset, found.TimestampValue, found.TimestampType, found.Header.Crc,
            Known((int)found.Header.Attributes.Compression, 5), Text(found.LenKey >= 0 ? found.Key : null),
            Text(found.LenValue >= 0 ? found.Value : null));
    }

    private static void Segment(byte[] data)
    {
        foreach (KafkaLogSegment.Entry entry in new KafkaLogSegment(new KaitaiStream(data)).Entries)
        {
            if (entry.IsPadding) Line("padding", entry.Padding.Length);
            else if (!entry.IsComplete) Line("partial", entry.Partial.Length);
            else
            {
                Line("entry", entry.BaseOffset, entry.LenBody, entry.Body.Magic);
                try
                {
                    object content = entry.Body.Content;
                    if (content is KafkaRecordBatchV2) Batch((KafkaRecordBatchV2)content);
                    else if (content is KafkaMessageLegacy) Message((KafkaMessageLegacy)content);
                }
                catch (Exception)
                {
                    Line("error");
                }
            }
        }
    }

    private static string Varint(int kind, byte[] data)
    {
        KaitaiStream stream = new KaitaiStream(data);
        try
        {
            if (kind == 0)
            {
                KafkaVarint found = new KafkaVarint(stream);
                return found.Value + " " + found.Len;
            }
            if (kind == 1)
            {
                KafkaVarlong found = new KafkaVarlong(stream);
                return found.Value + " " + found.Len;
            }
            KafkaUnsignedVarint number = new KafkaUnsignedVarint(stream);
            return number.Value + " " + number.Len;
        }
        catch (Exception)
        {
            return "error";
        }
    }

    public static void Main(string[] files)
    {
        for (int index = 0; index < files.Length; index++)
        {
            Line("file", index);
            byte[] data = File.ReadAllBytes(files[index]);
            if (!files[index].EndsWith(".varints"))
            {
                Segment(data);
                continue;
            }
            for (int at = 0; at < data.Length; at += 2 + data[at + 1])
            {
                Line("varint", data[at], Varint(data[at], data.Skip(at + 2).Take(data[at + 1]).ToArray()));
            }
        }
        Console.Out.Write(Out);
    }
}
