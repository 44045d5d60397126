meta:
  id: kafka_record_batch_v2
  title: Apache Kafka record batch, magic 2
  application: Apache Kafka (0.11.0 and later)
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - kafka_record
  endian: be
  bit-endian: be
doc: |
  The part of a magic 2 record batch that follows `baseOffset` and
  `batchLength`, in a stream of its own.
doc-ref: https://kafka.apache.org/documentation/#recordbatch
seq:
  - id: partition_leader_epoch
    -orig-id: partitionLeaderEpoch
    type: s4
  - id: magic
    -orig-id: magic
    type: s1
    valid: 2
  - id: crc
    -orig-id: crc
    type: u4
  - id: attributes
    -orig-id: attributes
    type: attributes
    size: 2
  - id: last_offset_delta
    -orig-id: lastOffsetDelta
    type: s4
  - id: base_timestamp
    -orig-id: baseTimestamp
    type: s8
  - id: max_timestamp
    -orig-id: maxTimestamp
    type: s8
  - id: producer_id
    -orig-id: producerId
    type: s8
  - id: producer_epoch
    -orig-id: producerEpoch
    type: s2
  - id: base_sequence
    -orig-id: baseSequence
    type: s4
  - id: num_records
    -orig-id: recordsCount
    type: s4
instances:
  len_header:
    value: sizeof<kafka_record_batch_v2>
  ofs_crc_region:
    value: partition_leader_epoch._sizeof + magic._sizeof + crc._sizeof
  crc_region:
    pos: ofs_crc_region
    size-eos: true
  payload:
    pos: len_header
    size-eos: true
  records:
    pos: len_header
    type: kafka_record(attributes.is_control)
    repeat: expr
    repeat-expr: num_records
    if: attributes.compression == compression::none
types:
  attributes:
    seq:
      - id: reserved
        type: b9
      - id: has_delete_horizon
        type: b1
      - id: is_control
        type: b1
      - id: is_transactional
        type: b1
      - id: timestamp_type
        type: b1
        enum: timestamp_type
      - id: compression
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
    2:
      id: snappy
      -orig-id: SNAPPY
    3:
      id: lz4
      -orig-id: LZ4
    4:
      id: zstd
      -orig-id: ZSTD
  timestamp_type:
    0:
      id: create_time
      -orig-id: CREATE_TIME
    1:
      id: log_append_time
      -orig-id: LOG_APPEND_TIME
