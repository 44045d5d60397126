meta:
  id: kafka_record_batch_v3_metadata_first
  title: Apache Kafka record batch of magic 3 with the metadata first
  application: Apache Kafka (a discarded proposal, in no release)
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_control_record_key
    - kafka_record_header
    - kafka_varint
    - kafka_varlong
  endian: be
  bit-endian: be
doc: |
  A second layout for the discarded magic 3, after the "additional proposal" of
  the same page: what a broker looks at when it validates a batch comes before
  all keys, values and headers, so that it need decompress a part only. The page
  gives no layout; this one, and bit 8 that announces it, are our own.

  The header is that of `kafka_record_batch_v3`. What follows it, compressed as
  one stream or not at all, is `num_records` times the metadata of a record,
  then as often its content. A record has no length of its own.
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
    type: s4
    doc: |
      Set by the leader when it appends the batch, which is why the checksum
      leaves it out; producers send -1.
  - id: magic
    -orig-id: magic
    type: s1
    valid: 3
  - id: crc
    -orig-id: crc
    -checksum:
      algorithm: crc32c
      region: crc_region
    type: u4
    doc: CRC-32C (Castagnoli) of `crc_region`.
  - id: attributes
    -orig-id: attributes
    size: 2
    type: batch_attributes
  - id: producer_id
    -orig-id: producerId
    -default: -1
    type: s8
    doc: -1 if the producer is not idempotent.
  - id: producer_epoch
    -orig-id: producerEpoch
    -default: -1
    type: s2
    doc: -1 if the producer is not idempotent.
  - id: base_sequence
    -orig-id: baseSequence
    -default: -1
    type: s4
    doc: |
      The sequence number of the first record, -1 for none. 0 comes after
      2147483647.
  - id: num_records
    -orig-id: recordsCount
    type: s4
    doc: |
      The number of records. The proposal's list of fields does not have it, and
      does not say either that it goes.
  - id: last_offset_delta
    -orig-id: lastOffsetDelta
    type: kafka_varint
    doc: |
      The last offset of the batch, minus `base_offset`. As in magic 2 it stays
      when compaction takes records away.
  - id: base_timestamp
    -orig-id: baseTimestamp
    -default: -1
    type: kafka_varlong
    doc: |
      What the records' timestamps are relative to, in milliseconds since 1970;
      -1 for none. With `attributes.has_delete_horizon` it is also the time
      from which on tombstones and transaction markers may be removed.
  - id: max_timestamp_delta
    -orig-id: maxTimestampDelta
    -default: 0
    type: kafka_varlong
    doc: |
      The largest timestamp minus `base_timestamp`, in milliseconds. 64 bits,
      where the proposal has 32: they would end after 24.8 days, and a batch
      without records or with a delete horizon may differ by more.
instances:
  max_timestamp:
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
      record_list(num_records, attributes.ignores_message_attributes,
      attributes.is_control, base_offset, attributes.timestamp_type.to_i.as<s1>,
      base_timestamp.value, max_timestamp)
    if: attributes.compression == compression::none
    doc: The records, if they are not compressed.
types:
  batch_attributes:
    -webide-representation: '{compression}, {timestamp_type}'
    seq:
      - id: reserved
        -default: 0
        type: b7
      - id: has_metadata_first
        -default: 1
        type: b1
        doc: Bit 8, which is 1 in this layout.
      - id: ignores_message_attributes
        -orig-id: ignoreMessageAttributes
        -default: 1
        type: b1
        doc: |
          Whether the records have no attributes. They are taken as 0 then,
          which is what all records of magic 2 have.
      - id: has_delete_horizon
        -orig-id: deleteHorizonMs
        -default: 0
        type: b1
        doc: |
          Whether `base_timestamp` is the time from which on the cleaner may
          remove the tombstones and transaction markers of this batch
          (KIP-534).
      - id: is_control
        -orig-id: isControl
        -default: 0
        type: b1
        doc: The records are Kafka's own and never handed to an application.
      - id: is_transactional
        -orig-id: isTransactional
        -default: 0
        type: b1
        doc: The records are part of a transaction (or mark the end of one).
      - id: timestamp_type
        -orig-id: timestampType
        -default: 0
        type: b1
        enum: timestamp_type
      - id: compression
        -orig-id: compressionType
        -default: 0
        type: b3
        enum: compression
  record_list:
    doc: What `payload` holds when it is decompressed.
    params:
      - id: num_heads
        type: s4
        doc: The `num_records` of the batch.
      - id: ignores_attributes
        type: bool
        doc: Whether no record has attributes.
      - id: is_control
        type: bool
        doc: Whether the records are of a control batch.
      - id: base_offset
        type: s8
        doc: The `base_offset` of the batch.
      - id: batch_timestamp_type
        type: s1
        doc: The number of the batch's timestamp type.
      - id: base_timestamp
        type: s8
        doc: The `base_timestamp` of the batch.
      - id: max_timestamp
        type: s8
        doc: The `max_timestamp` of the batch.
    seq:
      - id: heads
        type: record_head
        repeat: expr
        repeat-expr: num_heads
        doc: The metadata, which is all that the validation of a batch looks at.
      - id: contents
        type: record_content(_index.as<s4>)
        repeat: expr
        repeat-expr: heads.size
        doc: Keys, values and headers, in the order of `heads`.
      - id: invalid_rest
        size: 0
        valid: '[0]'
        if: not _io.eof
        doc: Never there, a check that nothing follows the last record.
  record_head:
    -webide-representation: 'offset {offset:dec}'
    seq:
      - id: attributes
        -orig-id: attributes
        -default: 0
        type: s1
        if: not _parent.ignores_attributes
        doc: No bit has a meaning. Not there if the batch says so, and 0 then.
      - id: timestamp_delta
        -orig-id: timestampDelta
        -default: 0
        -encode: timestamp - _parent.base_timestamp
        type: kafka_varlong
        doc: In milliseconds, to be added to the batch's `base_timestamp`.
      - id: offset_delta
        -orig-id: offsetDelta
        -derive: _index
        -encode: offset - _parent.base_offset
        type: kafka_varint
        doc: To be added to the batch's `base_offset`.
      - id: len_key
        -orig-id: keyLength
        type: kafka_varint
        doc: Negative for null.
      - id: len_value
        -orig-id: valueLength
        type: kafka_varint
        doc: Negative for null.
      - id: num_headers
        -orig-id: headersCount
        -default: 0
        type: kafka_varint
      - id: invalid_num_headers
        size: 0
        valid: '[0]'
        if: num_headers.value < 0
        doc: Never there, a check.
      - id: len_headers
        -default: 0
        type: kafka_varint
        doc: |
          The size of all headers. Without it a validator would have to read
          them to know where the next record begins.
      - id: invalid_len_headers
        size: 0
        valid: '[0]'
        if: len_headers.value < num_headers.value
        doc: Never there, a check.
    instances:
      offset:
        value: (_parent.base_offset + offset_delta.value.as<s8>).as<s8>
        doc: The record's offset; it wraps in 64 bits.
      timestamp:
        value: >-
          (_parent.batch_timestamp_type == 1 ? _parent.max_timestamp
          : (_parent.base_timestamp + timestamp_delta.value).as<s8>).as<s8>
        doc: |
          The record's timestamp, in milliseconds since 1970; -1 for none. It
          wraps in 64 bits.
  record_content:
    params:
      - id: index
        type: s4
        doc: The place of the record in the batch.
    seq:
      - id: key
        -orig-id: key
        size: _parent.heads[index].len_key.value
        if: _parent.heads[index].len_key.value >= 0
        doc: Not there if it is null, empty if it is empty.
      - id: value
        -orig-id: value
        size: _parent.heads[index].len_value.value
        if: _parent.heads[index].len_value.value >= 0
        doc: Not there if it is null, empty if it is empty.
      - id: headers
        -orig-id: Headers
        size: _parent.heads[index].len_headers.value
        type: header_list(_parent.heads[index].num_headers.value)
    instances:
      is_control_record:
        value: >-
          _parent.is_control and _parent.heads[index].len_key.value
          >= sizeof<kafka_control_record_key>
        doc: |
          Whether the record is of a control batch and its key is one of a
          control record.
  header_list:
    params:
      - id: num_headers
        type: s4
        doc: The number of headers.
    seq:
      - id: headers
        -orig-id: Headers
        type: kafka_record_header
        repeat: expr
        repeat-expr: num_headers
      - id: invalid_rest
        size: 0
        valid: '[0]'
        if: not _io.eof
        doc: Never there, a check that the headers have the size they should.
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
