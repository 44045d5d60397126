meta:
  id: kafka_record_batch_v3
  title: Apache Kafka record batch of the discarded magic 3 (experimental)
  application: Apache Kafka (a discarded proposal, in no release)
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_record_v3
    - kafka_varint
    - kafka_varlong
  endian: be
  bit-endian: be
doc: |
  A record batch as a proposal wanted it that Kafka discarded: no broker and no
  client writes magic 3. It is here to be studied and measured.

  It differs from `kafka_record_batch_v2` in two things. Three fields are
  varints and come last in the header, so that the records have no fixed
  position; and with `attributes.ignores_message_attributes` the records have no
  attributes.

  Where the proposal is silent or contradicts itself, `docs/formats` gives the
  reading that is taken here: `num_records`, which the proposal does not list,
  is the last field of a fixed size, and `max_timestamp_delta` has 64 bits.

  As that of magic 2, it is in a stream of its own and without its first two
  fields, `baseOffset` and `batchLength`, which are in
  `kafka_log_segment_experimental`.
doc-ref:
  - https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals
  - https://kafka.apache.org/documentation/#recordbatch
-webide-representation: '{num_records:dec} records, {attributes}'
params:
  - id: base_offset
    type: s8
    doc: |
      The first of the two fields in front. The records' offsets are differences
      to it.
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
    valid: 3
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
    doc: |
      The number of records. The proposal's list of fields does not have it, and
      does not say either that it goes.
  - id: last_offset_delta
    -orig-id: lastOffsetDelta
    -derive:
      last: records.body.offset_delta.value
      default: 0
    -batch-column: int32
    type: kafka_varint
    doc: |
      The last offset of the batch, minus `base_offset`. As in magic 2 it stays
      when compaction takes records away.
  - id: base_timestamp
    -orig-id: baseTimestamp
    -default: -1
    -batch-column:
      type: timestamp[ms, UTC]
      none: -1
    type: kafka_varlong
    doc: |
      What the records' timestamps are relative to, in milliseconds since 1970;
      -1 for none. With `attributes.has_delete_horizon` it is also the time
      from which on tombstones and transaction markers may be removed.
  - id: max_timestamp_delta
    -orig-id: maxTimestampDelta
    -derive:
      max: records.body.timestamp_delta.value
      default: 0
      unless: attributes.timestamp_type == timestamp_type::log_append_time
    -encode: max_timestamp - base_timestamp.value
    type: kafka_varlong
    doc: |
      The largest timestamp minus `base_timestamp`, in milliseconds. 64 bits,
      where the proposal has 32: they would end after 24.8 days, and a batch
      without records or with a delete horizon may differ by more.
instances:
  max_timestamp:
    -batch-column:
      type: timestamp[ms, UTC]
      none: -1
    value: (max_timestamp_delta.value + base_timestamp.value).as<s8>
    doc: |
      The largest timestamp; with the timestamp type `log_append_time` that of
      every record. It wraps in 64 bits.
  len_fixed_header:
    value: >-
      sizeof<s4> + sizeof<s1> + sizeof<u4> + sizeof<batch_attributes>
      + sizeof<s8> + sizeof<s2> + sizeof<s4> + sizeof<s4>
    doc: The size of the fields of a fixed size, which come first.
  min_len_header:
    value: len_fixed_header + 3
    doc: The least size of all fields above, where each varint takes a byte.
  max_len_header:
    value: len_fixed_header + 5 + 10 + 10
    doc: The greatest size of all fields above, by the longest varints.
  len_header:
    value: >-
      (len_fixed_header.as<s4> + last_offset_delta.len.as<s4>
      + base_timestamp.len.as<s4> + max_timestamp_delta.len.as<s4>).as<s4>
    doc: The size of all fields above.
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
      kafka_record_v3(attributes.ignores_message_attributes,
      attributes.is_control, 0x7fff_ffff, base_offset,
      attributes.timestamp_type.to_i.as<s1>, base_timestamp.value,
      max_timestamp, partition_leader_epoch, producer_id, producer_epoch,
      base_sequence)
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
        type: b8
        doc: Bits 8 to 15, which the proposal leaves unused.
      - id: ignores_message_attributes
        -orig-id: ignoreMessageAttributes
        -default: 1
        -batch-column: bool
        type: b1
        doc: |
          Whether the records have no attributes. They are taken as 0 then,
          which is what all records of magic 2 have.
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
