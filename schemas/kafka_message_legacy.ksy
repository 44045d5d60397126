meta:
  id: kafka_message_legacy
  title: Apache Kafka message of magic 0 and 1
  application: Apache Kafka (0.8.0 and later; no longer written since 4.0)
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
  bit-endian: be
doc: |
  A message of magic 0 (from Kafka 0.8.0) or 1 (from 0.10.0, which added the
  timestamp), in a stream of its own and without its first two fields, offset
  and size: those are common to all formats and stand in `kafka_log_segment`.

  If it is compressed, it is a wrapper: its value is a compressed run of
  entries like those of `kafka_log_segment`.

  Kafka 0.7 and before used the magics 0 and 1 for another format, see
  `kafka_message_0_7`.
doc-ref:
  - https://kafka.apache.org/documentation/#messageset
  - https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/common/record/internal/LegacyRecord.java
-webide-representation: '{header}'
params:
  - id: base_offset
    type: s8
    doc: The first of the two fields in front, the offset of the message.
seq:
  - id: header
    type: message_header
  - id: len_key
    -orig-id: keySize
    -null: -1
    type: s4
    doc: Negative for null; writers use -1.
  - id: key
    -orig-id: key
    -record-column: binary
    size: len_key
    if: len_key >= 0
    doc: Not there if it is null, empty if it is empty.
  - id: len_value
    -orig-id: valueSize
    -null: -1
    type: s4
    doc: Negative for null; writers use -1.
  - id: value
    -orig-id: value
    -codec:
      algorithm: header.attributes.compression
      content: kafka_log_segment
    -record-column: binary
    size: len_value
    if: len_value >= 0
    doc: Not there if it is null, empty if it is empty.
instances:
  offset:
    -record-column: int64
    value: base_offset
    doc: The message's offset; if it is compressed, that of the last one inside.
  timestamp_value:
    -record-column:
      name: timestamp
      type: timestamp[ms, UTC]
      none: -1
    value: '(header.magic == 1 ? header.timestamp : (-1).as<s8>).as<s8>'
    doc: Milliseconds since 1970; -1 for none, which is all that magic 0 has.
  timestamp_type:
    -record-column: int8
    value: >-
      header.magic == 1 ? header.attributes.timestamp_type.to_i.as<s1>
      : (-1).as<s1>
    doc: The number of the timestamp type; -1 in magic 0, which has none.
  crc_region:
    pos: header.ofs_crc_region
    size-eos: true
    doc: What the checksum covers, from `magic` to the end of the message.
types:
  message_header:
    doc: |
      What comes before key and value. It can be read alone, before the rest
      has been looked at.
    -webide-representation: '{attributes}'
    seq:
      - id: crc
        -orig-id: crc
        -checksum:
          algorithm: crc32
          region: _parent.crc_region
        -batch-column: uint32
        type: u4
        doc: CRC-32 (that of zlib) of `crc_region`.
      - id: magic
        -orig-id:
          - magic
          - magic_byte
        -default: 1
        -batch-column: int8
        type: s1
        valid:
          any-of:
            - 0
            - 1
      - id: attributes
        -orig-id: attributes
        size: 1
        type: attributes
      - id: timestamp
        -orig-id: timestamp
        -default: -1
        -encode: _parent.timestamp_value
        -batch-column:
          name: max_timestamp
          type: timestamp[ms, UTC]
          none: -1
        type: s8
        if: magic == 1
        doc: Milliseconds since 1970; -1 for none. Magic 0 has none at all.
    instances:
      ofs_crc_region:
        value: crc._sizeof
        doc: Where `crc_region` begins, from the beginning of the message.
  attributes:
    -webide-representation: '{compression}, {timestamp_type}'
    seq:
      - id: reserved
        -default: 0
        type: b4
      - id: timestamp_type
        -orig-id: timestampType
        -default: 0
        -batch-column: int8
        type: b1
        enum: message_timestamp_type
        doc: It has a meaning in magic 1 only.
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
    2:
      id: snappy
      -orig-id: SNAPPY
    3:
      id: lz4
      -orig-id: LZ4
      doc: |
        One LZ4 frame. In magic 0 the checksum of its header is wrong, and has
        to be (KAFKA-3160).
    4:
      id: zstd
      -orig-id: ZSTD
      doc: A number that the field can hold, but never valid in this format.
  message_timestamp_type:
    0:
      id: create_time
      -orig-id: CREATE_TIME
    1:
      id: log_append_time
      -orig-id: LOG_APPEND_TIME
