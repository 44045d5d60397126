meta:
  id: kafka_varint
  title: Apache Kafka varint (32-bit, zigzag)
  application: Apache Kafka
  xref:
    justsolve: Variable-length_quantity
    wikidata: Q6457577
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
doc: |
  A signed 32-bit integer in 1 to 5 bytes: zigzag mapping (0, -1, 1, -2, 2 ...
  become 0, 1, 2, 3, 4 ...), then groups of seven bits, least significant
  group first, the top bit of a byte saying that another one follows. The same
  as `sint32` of Protocol Buffers.

  The rules are those of Kafka's `ByteUtils.readVarint`:

  * five bytes at most; a fifth one that asks for a sixth is an error;
  * of the fifth byte only the lowest four bits count, the others are shifted
    out without a word;
  * longer forms than needed (`80 00` for 0) are accepted.

  Only `+ - * / %` are used, no bitwise operators, because those of JavaScript
  are 32 bits wide.
doc-ref:
  - https://kafka.apache.org/documentation/#record
  - https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java ByteUtils.readVarint
  - https://protobuf.dev/programming-guides/encoding/#signed-ints
-webide-representation: '{value:dec}'
-varint:
  bits: 32
  zigzag: true
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
  magnitude:
    value: |
      groups[0] < 0x80 ? (groups[0] / 2).as<s4> :
      ((groups[0] % 0x80 / 2).as<s4>
      + (len > 1 ? ((groups[1] % 0x80).as<s4>
      * 0x40).as<s4> : 0.as<s4>)
      + (len > 2 ? ((groups[2] % 0x80).as<s4>
      * 0x2000).as<s4> : 0.as<s4>)
      + (len > 3 ? ((groups[3] % 0x80).as<s4>
      * 0x10_0000).as<s4> : 0.as<s4>)
      + (len > 4 ? ((fifth_group.as<u1> % 0x10).as<s4>
      * 0x800_0000).as<s4> : 0.as<s4>)).as<s4>
    doc: The unsigned number without its lowest bit, which is the sign.
  value:
    value: 'groups[0] % 2 == 0 ? magnitude : (-1 - magnitude).as<s4>'
