// Prints segments and varints as ../reference.py describes.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"example/kafka"

	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
)

var out = bufio.NewWriter(os.Stdout)

// Ends what is being read; `contained` notes the error in its place.
type failure struct{ error }

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func contained(words string, read func()) {
	defer func() {
		if found := recover(); found != nil {
			if _, ok := found.(failure); !ok {
				panic(found)
			}
			fmt.Fprintln(out, words)
		}
	}()
	read()
}

func text(data []byte, isThere bool) string {
	if !isThere {
		return "-"
	}
	if len(data) == 0 {
		return "."
	}
	return hex.EncodeToString(data)
}

func flag(value bool) int {
	if value {
		return 1
	}
	return 0
}

func known(number, count int) string {
	if number >= 0 && number < count {
		return fmt.Sprint(number)
	}
	return "?"
}

func control(body *kafka.KafkaRecord_RecordBody) {
	key := must(body.ControlKey())
	kind, detail := known(int(key.RecordType), 7), "-"
	if key.RecordType >= 0 && key.RecordType <= 2 && must(body.LenValue.Value()) >= 0 {
		switch content := must(body.ControlValue()).Content.(type) {
		case *kafka.KafkaControlRecordValue_LeaderChangeMessage:
			detail = fmt.Sprint(content.LeaderId)
		case *kafka.KafkaControlRecordValue_EndTxnMarker:
			detail = fmt.Sprint(content.CoordinatorEpoch)
		}
	}
	fmt.Fprintln(out, "control", key.Version, kind, detail)
}

func record(body *kafka.KafkaRecord_RecordBody) {
	var headers strings.Builder
	for _, header := range body.Headers {
		fmt.Fprintf(&headers, " %s=%s", hex.EncodeToString(header.Key),
			text(header.Value, must(header.LenValue.Value()) >= 0))
	}
	fmt.Fprintf(out, "record %d %d %d %s %s%s\n", must(body.Offset()), must(body.Timestamp()), must(body.Sequence()),
		text(body.Key, must(body.LenKey.Value()) >= 0), text(body.Value, must(body.LenValue.Value()) >= 0),
		headers.String())
	if must(body.IsControlRecord()) {
		contained("control error", func() { control(body) })
	}
}

func batch(found *kafka.KafkaRecordBatchV2) {
	bits := found.Attributes
	fmt.Fprintln(out, "batch", found.PartitionLeaderEpoch, found.Crc, known(int(bits.Compression), 5),
		int(bits.TimestampType), flag(bits.IsTransactional), flag(bits.IsControl), flag(bits.HasDeleteHorizon),
		found.LastOffsetDelta, found.BaseTimestamp, found.MaxTimestamp, found.ProducerId, found.ProducerEpoch,
		found.BaseSequence, found.NumRecords, len(must(found.Payload())))
	if bits.Compression == kafka.KafkaRecordBatchV2_Compression__None {
		for _, each := range must(found.Records()) {
			record(each.Body)
		}
	}
}

func message(found *kafka.KafkaMessageLegacy) {
	fmt.Fprintln(out, "message", must(found.Offset()), must(found.TimestampValue()), must(found.TimestampType()),
		found.Header.Crc, known(int(found.Header.Attributes.Compression), 5), text(found.Key, found.LenKey >= 0),
		text(found.Value, found.LenValue >= 0))
}

func segment(data []byte) {
	found := kafka.NewKafkaLogSegment()
	check(found.Read(kaitai.NewStream(bytes.NewReader(data)), nil, found))
	for _, entry := range found.Entries {
		switch {
		case must(entry.IsPadding()):
			fmt.Fprintln(out, "padding", len(entry.Padding))
		case !must(entry.IsComplete()):
			fmt.Fprintln(out, "partial", len(entry.Partial))
		default:
			fmt.Fprintln(out, "entry", entry.BaseOffset, entry.LenBody, must(entry.Body.Magic()))
			contained("error", func() {
				switch content := must(entry.Body.Content()).(type) {
				case *kafka.KafkaRecordBatchV2:
					batch(content)
				case *kafka.KafkaMessageLegacy:
					message(content)
				}
			})
		}
	}
}

func varint(kind byte, data []byte) {
	stream := kaitai.NewStream(bytes.NewReader(data))
	switch kind {
	case 0:
		found := kafka.NewKafkaVarint()
		check(found.Read(stream, nil, found))
		fmt.Fprintln(out, "varint", kind, must(found.Value()), must(found.Len()))
	case 1:
		found := kafka.NewKafkaVarlong()
		check(found.Read(stream, nil, found))
		fmt.Fprintln(out, "varint", kind, must(found.Value()), must(found.Len()))
	default:
		found := kafka.NewKafkaUnsignedVarint()
		check(found.Read(stream, nil, found))
		fmt.Fprintln(out, "varint", kind, must(found.Value()), must(found.Len()))
	}
}

func main() {
	defer out.Flush()
	for index, file := range os.Args[1:] {
		fmt.Fprintln(out, "file", index)
		data := must(os.ReadFile(file))
		if !strings.HasSuffix(file, ".varints") {
			segment(data)
			continue
		}
		for at := 0; at < len(data); at += 2 + int(data[at+1]) {
			words := fmt.Sprint("varint ", data[at], " error")
			contained(words, func() { varint(data[at], data[at+2:at+2+int(data[at+1])]) })
		}
	}
}
