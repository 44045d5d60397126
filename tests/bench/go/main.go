// franz-go as a decoder: `peers serve|once PATH`.
//
// The segment is in memory, and is given to kgo in pieces of at most a MiB, as a consumer fetches them. The form of
// the answers and the checksum are those of tests/bench/README.md.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	lenFetch    = 1 << 20
	lenOverhead = 12
	ofsLength   = 8
)

// fetches cuts a segment into pieces of whole batches, each as long as a fetch may be, or of one batch.
func fetches(segment []byte) [][]byte {
	var pieces [][]byte
	begin, end := 0, 0
	for end < len(segment) {
		next := end + lenOverhead + int(binary.BigEndian.Uint32(segment[end+ofsLength:]))
		if next-begin > lenFetch && end > begin {
			pieces = append(pieces, segment[begin:end])
			begin = end
		}
		end = next
	}
	return append(pieces, segment[begin:end])
}

// sumOf is what is added up of one record.
func sumOf(record *kgo.Record) int64 {
	sum := record.Offset + record.Timestamp.UnixMilli() + int64(len(record.Key))
	if len(record.Value) > 0 {
		sum += int64(record.Value[len(record.Value)/2])
	}
	for _, header := range record.Headers {
		sum += int64(len(header.Key) + len(header.Value))
	}
	return sum
}

// pass decodes everything, CRC checked, and prints seconds, records and checksum.
func pass(pieces [][]byte, decompressor kgo.Decompressor) {
	started := time.Now()
	var records int
	var checksum int64
	for _, piece := range pieces {
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = piece
		fetched, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{}, &partition, decompressor, nil)
		if fetched.Err != nil {
			panic(fetched.Err)
		}
		for _, record := range fetched.Records {
			checksum += sumOf(record)
		}
		records += len(fetched.Records)
	}
	seconds := time.Since(started).Seconds()
	fmt.Printf("{\"seconds\": %.6f, \"records\": %d, \"checksum\": %d}\n", seconds, records, checksum)
}

func main() {
	segment, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	pieces, decompressor := fetches(segment), kgo.DefaultDecompressor()
	if os.Args[1] == "once" {
		pass(pieces, decompressor)
		return
	}
	fmt.Println("{\"ready\": true}")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		pass(pieces, decompressor)
	}
}
