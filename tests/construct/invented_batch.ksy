meta:
  id: invented_batch
  title: An invented batch
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_varint
    - kafka_varlong
    - kafka_unsigned_varint
  endian: le
  bit-endian: be
doc: Nobody writes this.
params:
  - id: base
    type: s8
seq:
  - id: num_records
    type: u2
  - id: flags
    type: flags
  - id: max_time
    type: s8
    -derive:
      max: records.time_delta.value
      plus: base_time
      default: -1
  - id: len_batch
    type: u4
    doc: all of it
  - id: magic
    type: u1
    valid: 0x77
  - id: crc
    type: u4be
    -checksum:
      algorithm: crc32c
      region: region
  - id: base_time
    type: s8
    -default: 5
  - id: owner
    type: kafka_varlong
    -default: -1
  - id: len_name
    type: kafka_unsigned_varint
  - id: name
    size: len_name.value - 3
  - id: payload
    size: len_batch - 28 - owner.len - len_name.len - len_name.value + 3
    -codec:
      algorithm: flags.codec
      content: records
instances:
  ofs_region:
    value: 19 + crc._sizeof + magic._sizeof
  ofs_records:
    value: 28 + owner.len + len_name.len + name.size
  region:
    pos: ofs_region
    size-eos: true
  records:
    pos: ofs_records
    type: record(base, flags.wide)
    repeat: expr
    repeat-expr: num_records
    if: flags.codec == codec::none
types:
  flags:
    seq:
      - id: wide
        type: b1
        -default: 0
      - id: rest
        type: b4
        -default: 0
      - id: codec
        type: b3
        enum: codec
        -default: 0
  record:
    params:
      - id: base
        type: s8
      - id: wide
        type: bool
    seq:
      - id: bits
        type: bits
      - id: time_delta
        type: kafka_varlong
        -default: 0
      - id: delta
        type: kafka_varint
        -derive: _index
      - id: trace
        size: 8
        if: bits.has_trace
      - id: extra
        type: u4
        if: wide
      - id: len_value
        type: kafka_varint
      - id: value
        size: len_value.value
        if: len_value.value >= 0
    instances:
      offset:
        value: base + delta.value
  bits:
    seq:
      - id: reserved
        type: b7
        -default: 0
      - id: has_trace
        type: b1
        -default: 0
enums:
  codec:
    0: none
    1: gzip
