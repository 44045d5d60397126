meta:
  id: kafka_record_v3
  title: Apache Kafka record (in a batch of the discarded magic 3)
  application: Apache Kafka (a discarded proposal, in no release)
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_control_record_key
    - kafka_control_record_value
    - kafka_record_header
    - kafka_varint
    - kafka_varlong
doc: |
  One record of a batch of magic 3, a proposal that Kafka discarded: that of
  magic 2, but that its attributes are missing if the batch says so
  (`ignoreMessageAttributes`).
doc-ref:
  - https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals
  - https://kafka.apache.org/documentation/#record
-webide-representation: '{len_body:dec} bytes'
params:
  - id: ignores_attributes
    type: bool
    doc: Whether the record has no attributes, by those of the batch.
  - id: is_control
    type: bool
    doc: Whether the record is of a control batch.
  - id: max_num_headers
    type: s4
    doc: |
      How many headers of one record the reader is prepared for: an empty one
      takes two bytes here and far more in memory. Kafka knows no such limit;
      2147483647 is none.
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
  - id: partition_leader_epoch
    type: s4
    doc: The `partition_leader_epoch` of the batch.
  - id: batch_producer_id
    type: s8
    doc: The `producer_id` of the batch.
  - id: batch_producer_epoch
    type: s2
    doc: The `producer_epoch` of the batch.
  - id: base_sequence
    type: s4
    doc: The `base_sequence` of the batch.
seq:
  - id: len_body
    -orig-id: length
    type: kafka_varint
    doc: The size of what follows; its own bytes do not count.
  - id: invalid_len_body
    size: 0
    valid: '[0]'
    if: len_body.value < 0
    doc: Never there, a check.
  - id: body
    size: len_body.value
    type: record_body
types:
  record_body:
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
        doc: |
          In milliseconds, to be added to the batch's `base_timestamp`. It may
          be negative, and is not looked at if the batch has the timestamp type
          `log_append_time`.
      - id: offset_delta
        -orig-id: offsetDelta
        -derive: _index
        -encode: offset - _parent.base_offset
        type: kafka_varint
        doc: To be added to the batch's `base_offset`.
      - id: len_key
        -orig-id: keyLength
        -null: -1
        type: kafka_varint
        doc: Negative for null; writers use -1, Kafka accepts any.
      - id: key
        -orig-id: key
        -record-column: binary
        size: len_key.value
        if: len_key.value >= 0
        doc: Not there if it is null, empty if it is empty.
      - id: len_value
        -orig-id: valueLength
        -null: -1
        type: kafka_varint
        doc: Negative for null; writers use -1, Kafka accepts any.
      - id: value
        -orig-id: value
        -record-column: binary
        size: len_value.value
        if: len_value.value >= 0
        doc: |
          Not there if it is null (in a compacted topic: a tombstone), empty if
          it is empty.
      - id: num_headers
        -orig-id: headersCount
        type: kafka_varint
      - id: invalid_num_headers
        size: 0
        valid: '[0]'
        if: >-
          num_headers.value < 0
          or num_headers.value.as<s8>
          > (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
        doc: |
          Never there, a check: Kafka refuses more headers than there are bytes
          left.
      - id: headers
        -orig-id: Headers
        -record-column: list<struct>
        type: kafka_record_header
        repeat: expr
        repeat-expr: num_headers.value
        if: not has_too_many_headers
        doc: Not there if they are more than `max_num_headers`.
      - id: invalid_rest
        size: 0
        valid: '[0]'
        if: not (has_too_many_headers or _io.eof)
        doc: |
          Never there, a check: Kafka refuses a record whose length is not that
          of its content.
    instances:
      offset:
        -record-column: int64
        value: (_parent.base_offset + offset_delta.value.as<s8>).as<s8>
        doc: |
          The record's offset. Kafka adds in 64 bits and wraps, which languages
          with larger integers do not.
      timestamp:
        -record-column:
          type: timestamp[ms, UTC]
          none: -1
        value: >-
          (_parent.batch_timestamp_type == 1 ? _parent.max_timestamp
          : (_parent.base_timestamp + timestamp_delta.value).as<s8>).as<s8>
        doc: |
          The record's timestamp, in milliseconds since 1970; -1 for none. It
          wraps as the offset does.
      timestamp_type:
        -record-column: int8
        value: _parent.batch_timestamp_type
        doc: The number of the timestamp type, which is the batch's.
      leader_epoch:
        -record-column:
          type: int32
          none: -1
        value: _parent.partition_leader_epoch
        doc: |
          The epoch of the leader that took the record, which is the batch's; -1
          for none.
      producer_id:
        -record-column:
          type: int64
          none: -1
        value: _parent.batch_producer_id
        doc: The producer, which is the batch's; -1 for none.
      producer_epoch:
        -record-column:
          type: int32
          none: -1
        value: _parent.batch_producer_epoch
        doc: The producer's epoch, which is the batch's; -1 for none.
      sequence:
        -record-column:
          type: int32
          none: -1
        value: >-
          _parent.base_sequence < 0 ? (-1).as<s4>
          : offset_delta.value < 0
          or offset_delta.value > 0x7fff_ffff - _parent.base_sequence
          ? (offset_delta.value - (0x7fff_ffff - _parent.base_sequence) - 1)
          .as<s4>
          : (_parent.base_sequence + offset_delta.value).as<s4>
        doc: |
          The producer's number of the record; -1 for none. It goes by the
          offset, so that it stays what it was where compaction took others;
          2147483647 is followed by 0. (Below the batch's first offset, where no
          writer puts one, Kafka's 32 bits make what this says, wrapped.)
      has_too_many_headers:
        value: num_headers.value > _parent.max_num_headers
        doc: |
          Whether the headers were left out because the reader is not prepared
          for so many.
      is_control_record:
        value: >-
          _parent.is_control
          and len_key.value >= sizeof<kafka_control_record_key>
        doc: |
          Whether the record is of a control batch and its key is one of a
          control record.
      ofs_key:
        value: >-
          ((_parent.ignores_attributes ? 0.as<s4> : sizeof<s1>.as<s4>)
          + timestamp_delta.len.as<s4> + offset_delta.len.as<s4>
          + len_key.len.as<s4>).as<s4>
        doc: Where `key` begins in the record's body.
      ofs_value:
        value: >-
          (ofs_key.as<s4> + (len_key.value >= 0 ? len_key.value : 0.as<s4>)
          + len_value.len.as<s4>).as<s4>
        doc: Where `value` begins in the record's body.
      control_key:
        pos: ofs_key
        size: len_key.value
        type: kafka_control_record_key
        if: is_control_record
        doc: The same bytes as `key`, read as that of a control record.
      control_value:
        pos: ofs_value
        size: len_value.value
        type: kafka_control_record_value(control_key.record_type)
        if: is_control_record and len_value.value >= 0
        doc: The same bytes as `value`, read as that of a control record.
