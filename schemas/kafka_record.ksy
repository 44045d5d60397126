meta:
  id: kafka_record
  title: Apache Kafka record (of a magic 2 batch)
  application: Apache Kafka (0.11.0 and later)
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - kafka_control_record_key
    - kafka_control_record_value
    - kafka_record_header
    - kafka_varint
    - kafka_varlong
doc: |
  One record of a magic 2 batch. Offset and timestamp are kept as differences
  to the batch's `base_offset` and `base_timestamp`.
doc-ref: https://kafka.apache.org/documentation/#record
-webide-representation: '+{body.offset_delta}'
params:
  - id: is_control
    type: bool
    doc: Whether the batch is a control batch.
seq:
  - id: len_body
    -orig-id: length
    type: kafka_varint
    valid:
      expr: _.value >= 0
    doc: The size of what follows; its own bytes do not count.
  - id: body
    type: record_body
    size: len_body.value
types:
  record_body:
    seq:
      - id: attributes
        -orig-id: attributes
        type: s1
        doc: No bit has a meaning. Writers put 0, readers do not look.
      - id: timestamp_delta
        -orig-id: timestampDelta
        type: kafka_varlong
      - id: offset_delta
        -orig-id: offsetDelta
        type: kafka_varint
      - id: len_key
        -orig-id: keyLength
        type: kafka_varint
      - id: key
        -orig-id: key
        size: len_key.value
        if: len_key.value >= 0
        doc: Absent if the length is negative, which is Kafka's null.
      - id: len_value
        -orig-id: valueLength
        type: kafka_varint
      - id: value
        -orig-id: value
        size: len_value.value
        if: len_value.value >= 0
        doc: Absent if the length is negative, which is Kafka's null.
      - id: num_headers
        -orig-id: headersCount
        type: kafka_varint
        valid:
          expr: _.value >= 0
      - id: headers
        -orig-id: Headers
        type: kafka_record_header
        repeat: expr
        repeat-expr: num_headers.value
      - id: rest
        size-eos: true
        valid:
          expr: _.size == 0
        doc: |
          Nothing may be left: Kafka refuses a record whose length is not that
          of its content.
    instances:
      ofs_key:
        value: >-
          sizeof<s1> + timestamp_delta.len + offset_delta.len + len_key.len
      ofs_value:
        value: >-
          ofs_key + (len_key.value >= 0 ? len_key.value : 0) + len_value.len
      control_key:
        pos: ofs_key
        size: len_key.value
        type: kafka_control_record_key
        if: _parent.is_control and len_key.value >= sizeof<kafka_control_record_key>
        doc: The key, read as that of a control record.
      control_value:
        pos: ofs_value
        size: len_value.value
        type: kafka_control_record_value(control_key.type)
        if: >-
          _parent.is_control and len_key.value >= sizeof<kafka_control_record_key>
          and len_value.value >= 0
        doc: The value, read as that of a control record.
