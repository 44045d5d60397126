meta:
  id: kafka_message_0_7
  title: Apache Kafka message up to 0.7
  application: Apache Kafka (up to 0.7)
  file-extension: kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
  bit-endian: be
doc: |
  A message as Kafka kept it up to 0.7: without key and offset (what was called
  an offset then was the position in the log). Its magics 0 and 1 mean another
  thing than those of later versions, see `kafka_message_legacy`.

  It is here so that such a file can be recognised and named.
doc-ref: https://github.com/apache/kafka/blob/0.7/core/src/main/scala/kafka/message/Message.scala
-webide-representation: '{len_body:dec} bytes'
seq:
  - id: len_body
    -orig-id: size
    type: s4
    valid:
      min: sizeof<message_body::least>
    doc: The size of what follows.
  - id: body
    size: len_body
    type: message_body
instances:
  len_entry:
    value: (len_body._sizeof.as<s8> + len_body.as<s8>).as<s8>
    doc: The size of the whole entry.
types:
  message_body:
    seq:
      - id: magic
        -orig-id: magic
        type: s1
        valid:
          any-of:
            - 0
            - 1
      - id: attributes
        -orig-id: attributes
        size: 1
        type: attributes
        if: magic == 1
      - id: crc
        -orig-id: checksum
        -checksum:
          algorithm: crc32
          region: payload
        type: u4
        doc: CRC-32 (that of zlib) of `payload`, and of nothing else.
      - id: payload
        -orig-id: payload
        size-eos: true
        doc: |
          What the producer sent; if it is compressed, a compressed run of
          messages.
    types:
      least:
        doc: What no message is without, that is one of magic 0 with no payload.
        seq:
          - id: magic
            -orig-id: magic
            type: s1
          - id: crc
            -orig-id: checksum
            type: u4
  attributes:
    seq:
      - id: reserved
        type: b6
      - id: compression
        -orig-id: compressionCodec
        type: b2
        enum: compression
enums:
  compression:
    0:
      id: none
      -orig-id: NoCompressionCodec
    1:
      id: gzip
      -orig-id: GZIPCompressionCodec
    2:
      id: snappy
      -orig-id: SnappyCompressionCodec
