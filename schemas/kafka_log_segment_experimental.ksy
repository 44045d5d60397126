meta:
  id: kafka_log_segment_experimental
  title: Apache Kafka log segment with entries of the discarded magic 3
  application: Apache Kafka (a discarded proposal, in no release)
  file-extension: log
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_log_segment
    - kafka_message_legacy
    - kafka_record_batch_v2
    - kafka_record_batch_v3
    - kafka_record_batch_v3_metadata_first
  endian: be
doc: |
  A log segment as in `kafka_log_segment`, in which entries of magic 3 are read
  too, by a proposal that Kafka discarded. Use it only for files that are known
  to hold them: the checksum of a batch does not cover its magic, so that a
  single wrong bit turns a sound batch of magic 2 into one of magic 3.

  Bit 8 of the attributes chooses `kafka_record_batch_v3_metadata_first`.
doc-ref:
  - https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals
  - https://kafka.apache.org/documentation/#log
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -webide-representation: 'offset {base_offset:dec}, {len_body:dec} bytes'
    seq:
      - id: base_offset
        -orig-id:
          - baseOffset
          - offset
        -default: 0
        -batch-column: int64
        type: s8
        if: has_log_overhead
        doc: |
          Magic 2: the offset of the batch's first record (as it was written:
          compaction may have removed it). Magic 0 and 1: the offset of the
          message; if it is compressed, that of the last one inside.
      - id: len_body
        -orig-id:
          - batchLength
          - message_size
        -batch-column: int32
        type: s4
        if: has_log_overhead
        doc: The size of what follows.
      - id: body
        size: len_body.as<s4>
        type: entry_body
        if: is_complete
      - id: padding
        size-eos: true
        if: is_padding
        doc: |
          The zeros at the end of a file that was allocated beforehand. (The
          first twelve of them were read as `base_offset` and `len_body`.)
      - id: partial
        size-eos: true
        if: not (is_complete or is_padding)
        doc: |
          An entry that is cut off by the end of the file. Or that is damaged,
          if `len_body` is less than any entry can have.
    instances:
      has_log_overhead:
        value: >-
          (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
          >= (sizeof<s8> + sizeof<s4>).as<s8>
        doc: Whether there are enough bytes for `base_offset` and `len_body`.
      is_complete:
        value: >-
          has_log_overhead
          and len_body >= sizeof<kafka_log_segment::entry_body::least>
          and len_body.as<s8> <= (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
      is_padding:
        value: has_log_overhead and base_offset == 0 and len_body == 0
  entry_body:
    instances:
      magic:
        -orig-id: magic
        -webide-parse-mode: eager
        pos: sizeof<u4>
        type: s1
      high_attributes:
        pos: sizeof<s4> + sizeof<s1> + sizeof<u4>
        type: u1
        doc: |
          Bits 8 to 15 of a batch's attributes; of a message of magic 0 or 1
          another byte.
      layout:
        value: >-
          magic == 3 and high_attributes % 2 == 1 ? 0x103.as<s4> : magic.as<s4>
        doc: The magic, and 0x100 more if bit 8 of magic 3's attributes is set.
      content:
        pos: 0
        size-eos: true
        type:
          switch-on: layout
          cases:
            0: kafka_message_legacy(_parent.base_offset.as<s8>)
            1: kafka_message_legacy(_parent.base_offset.as<s8>)
            2: kafka_record_batch_v2(_parent.base_offset.as<s8>)
            3: kafka_record_batch_v3(_parent.base_offset.as<s8>)
            0x103: >-
              kafka_record_batch_v3_metadata_first(_parent.base_offset.as<s8>)
            _: kafka_log_segment::unknown_content
        doc: |
          An instance, so that a damaged entry does not keep the others from
          being shown.
