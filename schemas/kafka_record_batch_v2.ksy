meta:
  id: kafka_record_batch_v2
  title: Apache Kafka record batch of magic 2
  application: Apache Kafka (0.11.0 and later)
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_record
  endian: be
  bit-endian: be
doc: |
  A record batch of magic 2, in a stream of its own and without its first two
  fields, `baseOffset` and `batchLength`: those are common to all formats and
  stand in `kafka_log_segment`.

  The header alone can be read too, before the rest has been looked at: the
  records are instances, which are only read when somebody asks. Whoever wants
  to be sure of them computes CRC-32C (Castagnoli) over `crc_region` first.
doc-ref:
  - https://kafka.apache.org/documentation/#recordbatch
  - https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/common/record/internal/DefaultRecordBatch.java
-webide-representation: '{num_records:dec} records, {attributes}'
params:
  - id: base_offset
    type: s8
    doc: |
      The first of the two fields in front. It is here for the records' sake,
      whose offsets are differences to it.
seq:
  - id: partition_leader_epoch
    -orig-id: partitionLeaderEpoch
    -default: -1
    -batch-column: int32
    type: s4
    doc: |
      Set by the leader when it appends the batch, which is why the checksum
      leaves it out; producers send -1.
  - id: magic
    -orig-id: magic
    -batch-column: int8
    type: s1
    valid: 2
  - id: crc
    -orig-id: crc
    -checksum:
      algorithm: crc32c
      region: crc_region
    -batch-column: uint32
    type: u4
    doc: CRC-32C (Castagnoli) of `crc_region`.
  - id: attributes
    -orig-id: attributes
    size: 2
    type: batch_attributes
  - id: last_offset_delta
    -orig-id: lastOffsetDelta
    -derive:
      last: records.body.offset_delta.value
      default: 0
    -batch-column: int32
    type: s4
    doc: |
      The last offset of the batch, minus `base_offset`. It stays when
      compaction takes records away, even the last one: it is not a count.
  - id: base_timestamp
    -orig-id: baseTimestamp
    -default: -1
    -batch-column:
      type: timestamp[ms, UTC]
      none: -1
    type: s8
    doc: |
      What the records' timestamps are relative to, in milliseconds since 1970;
      -1 for none. With `attributes.has_delete_horizon` it is also the time
      from which on tombstones and transaction markers may be removed.
  - id: max_timestamp
    -orig-id: maxTimestamp
    -derive:
      max: records.body.timestamp_delta.value
      plus: base_timestamp
      default: -1
      unless: attributes.timestamp_type == timestamp_type::log_append_time
    -batch-column:
      type: timestamp[ms, UTC]
      none: -1
    type: s8
    doc: |
      The largest timestamp; with the timestamp type `log_append_time` that of
      every record.
  - id: producer_id
    -orig-id: producerId
    -default: -1
    -batch-column: int64
    type: s8
    doc: -1 if the producer is not idempotent.
  - id: producer_epoch
    -orig-id: producerEpoch
    -default: -1
    -batch-column: int16
    type: s2
    doc: -1 if the producer is not idempotent.
  - id: base_sequence
    -orig-id: baseSequence
    -default: -1
    -batch-column: int32
    type: s4
    doc: |
      The sequence number of the first record, -1 for none. 0 comes after
      2147483647.
  - id: num_records
    -orig-id: recordsCount
    -batch-column: int32
    type: s4
    doc: 0 is valid, compaction leaves such batches.
instances:
  len_header:
    value: sizeof<kafka_record_batch_v2>
    doc: The size of the fields above.
  ofs_crc_region:
    value: partition_leader_epoch._sizeof + magic._sizeof + crc._sizeof
    doc: Where `crc_region` begins.
  crc_region:
    pos: ofs_crc_region
    size-eos: true
    doc: What the checksum covers, from `attributes` to the end of the batch.
  payload:
    -codec:
      algorithm: attributes.compression
      content: records
    pos: len_header
    size-eos: true
    doc: The records, compressed if `attributes.compression` says so.
  records:
    pos: len_header
    type: >-
      kafka_record(attributes.is_control, 0x7fff_ffff, base_offset,
      attributes.timestamp_type.to_i.as<s1>, base_timestamp, max_timestamp,
      partition_leader_epoch, producer_id, producer_epoch, base_sequence)
    repeat: expr
    repeat-expr: num_records
    if: attributes.compression == compression::none
    doc: The records, if they are not compressed.
types:
  batch_attributes:
    -webide-representation: '{compression}, {timestamp_type}'
    seq:
      - id: reserved
        -default: 0
        type: b9
      - id: has_delete_horizon
        -orig-id: deleteHorizonMs
        -default: 0
        -batch-column: bool
        type: b1
        doc: |
          Whether `base_timestamp` is the time from which on the cleaner may
          remove the tombstones and transaction markers of this batch
          (KIP-534).
      - id: is_control
        -orig-id: isControl
        -default: 0
        -batch-column: bool
        type: b1
        doc: The records are Kafka's own and never handed to an application.
      - id: is_transactional
        -orig-id: isTransactional
        -default: 0
        -batch-column: bool
        type: b1
        doc: The records are part of a transaction (or mark the end of one).
      - id: timestamp_type
        -orig-id: timestampType
        -default: 0
        -batch-column: int8
        type: b1
        enum: timestamp_type
      - id: compression
        -orig-id: compressionType
        -default: 0
        -batch-column: int8
        type: b3
        enum: compression
enums:
  compression:
    0:
      id: none
      -orig-id: NONE
    1:
      id: gzip
      -orig-id: GZIP
      doc: One gzip member or more.
    2:
      id: snappy
      -orig-id: SNAPPY
      doc: The framing of snappy-java, or from some clients one bare block.
    3:
      id: lz4
      -orig-id: LZ4
      doc: One LZ4 frame.
    4:
      id: zstd
      -orig-id: ZSTD
      doc: One Zstandard frame or more (KIP-110).
  timestamp_type:
    0:
      id: create_time
      -orig-id: CREATE_TIME
      doc: Every record has the time that its producer gave it.
    1:
      id: log_append_time
      -orig-id: LOG_APPEND_TIME
      doc: Every record has the time at which the broker appended the batch.
