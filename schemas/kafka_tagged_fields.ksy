meta:
  id: kafka_tagged_fields
  title: Apache Kafka tagged fields
  application: Apache Kafka (2.4.0 and later)
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_unsigned_varint
doc: |
  The end of every struct of a flexible message: optional fields, each with its
  size, so that a reader can pass over those that it does not know. Mostly
  there are none, and it is one zero byte.
doc-ref: https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields KIP-482
-webide-representation: '{num_fields} fields'
seq:
  - id: num_fields
    -orig-id: numTaggedFields
    type: kafka_unsigned_varint
  - id: invalid_num_fields
    size: 0
    valid: '[0]'
    if: num_fields.value > 0x7fff_ffff.as<s8>
    doc: Never there, a check; Kafka holds the number in a signed integer.
  - id: fields
    type: tagged_field
    repeat: expr
    repeat-expr: num_fields.value
types:
  tagged_field:
    -webide-representation: '{tag}'
    seq:
      - id: tag
        -orig-id: tag
        type: kafka_unsigned_varint
        doc: The number of the field; in ascending order.
      - id: len_data
        -orig-id: size
        type: kafka_unsigned_varint
      - id: data
        size: len_data.value
