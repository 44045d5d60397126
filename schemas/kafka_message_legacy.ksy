meta:
  id: kafka_message_legacy
  title: Apache Kafka message, magic 0 and 1
  application: Apache Kafka (0.8.0 to 3.9)
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
  bit-endian: be
doc: |
  The part of a magic 0 or magic 1 message that follows `offset` and
  `messageSize`, in a stream of its own.
doc-ref: https://kafka.apache.org/documentation/#messageset
seq:
  - id: crc
    type: u4
  - id: magic
    type: s1
    valid:
      any-of: [0, 1]
  - id: attributes
    type: attributes
    size: 1
  - id: timestamp
    type: s8
    if: magic == 1
  - id: len_key
    -orig-id: keyLength
    type: s4
  - id: key
    size: len_key
    if: len_key >= 0
  - id: len_value
    -orig-id: valueLength
    type: s4
  - id: value
    size: len_value
    if: len_value >= 0
instances:
  ofs_crc_region:
    value: crc._sizeof
  crc_region:
    pos: ofs_crc_region
    size-eos: true
types:
  attributes:
    seq:
      - id: reserved
        type: b4
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
