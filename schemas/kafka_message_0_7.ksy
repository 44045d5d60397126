meta:
  id: kafka_message_0_7
  title: Apache Kafka 0.7 message
  application: Apache Kafka (0.7 and before)
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
  bit-endian: be
doc: |
  A message of Kafka 0.7.
seq:
  - id: len_body
    type: s4
    valid:
      min: 5
  - id: body
    type: message_body
    size: len_body
types:
  message_body:
    seq:
      - id: magic
        type: s1
        valid:
          any-of: [0, 1]
      - id: attributes
        type: u1
        if: magic == 1
      - id: crc
        type: u4
      - id: payload
        size-eos: true
