meta:
  id: kafka_tagged_fields
  title: Apache Kafka tagged fields
  application: Apache Kafka (2.4.0 and later)
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - kafka_unsigned_varint
doc: |
  The end of every struct in a flexible message: fields that a reader may not
  know and then passes over.
doc-ref: https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields KIP-482
seq:
  - id: num_fields
    type: kafka_unsigned_varint
  - id: fields
    type: tagged_field
    repeat: expr
    repeat-expr: num_fields.value
types:
  tagged_field:
    seq:
      - id: tag
        type: kafka_unsigned_varint
      - id: len_data
        type: kafka_unsigned_varint
      - id: data
        size: len_data.value
