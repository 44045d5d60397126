meta:
  id: kafka_log_segment
  title: Apache Kafka log segment
  application: Apache Kafka
  file-extension: log
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - kafka_message_legacy
    - kafka_record_batch_v2
  endian: be
doc: |
  A run of message sets and record batches up to the end of the stream.
doc-ref: https://kafka.apache.org/documentation/#log
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    seq:
      - id: base_offset
        -orig-id: baseOffset
        type: s8
        if: has_log_overhead
      - id: len_body
        -orig-id: batchLength
        type: s4
        if: has_log_overhead
      - id: body
        type: entry_body
        size: len_body
        if: is_complete
      - id: padding
        size-eos: true
        if: has_log_overhead and len_body == 0
      - id: partial
        size-eos: true
        if: not (is_complete or (has_log_overhead and len_body == 0))
    instances:
      has_log_overhead:
        value: '_io.size - _io.pos >= sizeof<s8> + sizeof<s4>'
      is_complete:
        value: 'has_log_overhead and len_body > 0 and _io.size - _io.pos >= len_body'
  entry_body:
    instances:
      magic:
        pos: sizeof<s4>
        type: s1
      content:
        pos: 0
        size-eos: true
        type:
          switch-on: magic
          cases:
            0: kafka_message_legacy
            1: kafka_message_legacy
            2: kafka_record_batch_v2
  entry_prefix:
    seq:
      - id: base_offset
        -orig-id: baseOffset
        type: s8
      - id: len_body
        -orig-id: batchLength
        type: s4
      - id: leader_epoch_or_crc
        size: 4
      - id: magic
        type: s1
    instances:
      len_log_overhead:
        value: base_offset._sizeof + len_body._sizeof
      len_prefix:
        value: sizeof<entry_prefix>
      ofs_len_body:
        value: base_offset._sizeof
      ofs_magic:
        value: len_prefix - magic._sizeof
      min_len_body:
        value: 'magic == 2 ? sizeof<kafka_record_batch_v2> : 14'
      len_entry:
        value: len_log_overhead + len_body
