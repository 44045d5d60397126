meta:
  id: kafka_varlong
  title: Apache Kafka varlong (64-bit, zigzag)
  application: Apache Kafka
  xref:
    justsolve: Variable-length_quantity
    wikidata: Q6457577
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
doc: |
  A signed 64-bit integer in 1 to 10 bytes: zigzag mapping (0, -1, 1, -2, 2 ...
  become 0, 1, 2, 3, 4 ...), then groups of seven bits, least significant
  group first, the top bit of a byte saying that another one follows. The same
  as `sint64` of Protocol Buffers.

  The rules are those of Kafka's `ByteUtils.readVarlong`:

  * ten bytes at most; a tenth one that asks for an eleventh is an error;
  * of the tenth byte only the lowest bit counts, the others are shifted out
    without a word;
  * longer forms than needed (`80 00` for 0) are accepted.

  Only `+ - * / %` are used, no bitwise operators, because those of JavaScript
  are 32 bits wide. The sign is never rounded; the value is exact in JavaScript
  up to 2^53, in all other languages always: the casts make those compute in 64
  bits that would take 32.
doc-ref:
  - https://kafka.apache.org/documentation/#record
  - https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java ByteUtils.readVarlong
  - https://protobuf.dev/programming-guides/encoding/#signed-ints
-webide-representation: '{value:dec}'
-varint:
  bits: 64
  zigzag: true
seq:
  - id: groups
    type: u1
    repeat: until
    repeat-until: _ < 0x80 or groups.size == 9
  - id: tenth_group
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
      groups[0] < 0x80 ? (groups[0] / 2).as<s8> :
      ((((((((((groups[0] % 0x80 / 2).as<s8>
      + (len > 1 ? ((groups[1] % 0x80).as<s8>
      * 0x40.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 2 ? ((groups[2] % 0x80).as<s8>
      * 0x2000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 3 ? ((groups[3] % 0x80).as<s8>
      * 0x10_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 4 ? ((groups[4] % 0x80).as<s8>
      * 0x800_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 5 ? ((groups[5] % 0x80).as<s8>
      * 0x4_0000_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 6 ? ((groups[6] % 0x80).as<s8>
      * 0x200_0000_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 7 ? ((groups[7] % 0x80).as<s8>
      * 0x1_0000_0000_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 8 ? ((groups[8] % 0x80).as<s8>
      * 0x80_0000_0000_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
      + (len > 9 ? ((tenth_group.as<u1> % 2).as<s8>
      * 0x4000_0000_0000_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
    doc: The unsigned number without its lowest bit, which is the sign.
  value:
    value: 'groups[0] % 2 == 0 ? magnitude : ((-1).as<s8> - magnitude).as<s8>'
