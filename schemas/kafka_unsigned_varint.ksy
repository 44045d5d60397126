meta:
  id: kafka_unsigned_varint
  title: Apache Kafka unsigned varint (32-bit)
  application: Apache Kafka
  xref:
    justsolve: Variable-length_quantity
    wikidata: Q6457577
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
doc: |
  An unsigned integer in 1 to 5 bytes: groups of seven bits, least significant
  group first, the top bit of a byte saying that another one follows. Kafka's
  flexible messages use it for lengths and tags; records never do.

  The rules are those of Kafka's `ByteUtils.readUnsignedVarint`: five bytes at
  most; of the fifth byte only the lowest four bits count; longer forms than
  needed are accepted. Kafka holds the result in a signed Java `int`, so what
  reads here as 2^31 or more is negative there.

  Only `+ - * / %` are used, no bitwise operators, because those of JavaScript
  are 32 bits wide.
doc-ref:
  - https://kafka.apache.org/protocol#protocol_types
  - https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java ByteUtils.readUnsignedVarint
  - https://protobuf.dev/programming-guides/encoding/#varints
-webide-representation: '{value:dec}'
-varint:
  bits: 32
  zigzag: false
seq:
  - id: groups
    type: u1
    repeat: until
    repeat-until: _ < 0x80 or groups.size == 4
  - id: fifth_group
    type: u1
    valid:
      max: 0x7f
    if: groups.last >= 0x80
    doc: The last one that there can be.
instances:
  len:
    value: >-
      groups.last < 0x80 ? groups.size.as<s4> : (groups.size + 1).as<s4>
    doc: The number of bytes that were used.
  value:
    value: |
      (((((groups[0] % 0x80).as<s8>
      + (len > 1 ? ((groups[1] % 0x80).as<s8>
      * 0x80.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 2 ? ((groups[2] % 0x80).as<s8>
      * 0x4000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 3 ? ((groups[3] % 0x80).as<s8>
      * 0x20_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 4 ? ((fifth_group.as<u1> % 0x10).as<s8>
      * 0x1000_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
