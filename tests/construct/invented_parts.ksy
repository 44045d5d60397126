meta:
  id: invented_parts
  title: Invented parts
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_unsigned_varint
  endian: be
  bit-endian: le
doc: What the schemas of the project could use and do not, in a row.
seq:
  - id: bits
    type: bits
  - id: low
    type: b12
  - id: high
    type: b4
  - id: name
    terminator: 0x00
  - id: kind
    type: u1
    enum: kind
    valid:
      any-of:
        - kind::number
        - kind::pair
        - kind::other
  - id: level
    type: s2le
    valid:
      min: -5
      max: 5
    -default: 0
  - id: thing
    size: 4
    type:
      switch-on: kind
      cases:
        kind::number: number
        kind::pair: pair
        _: pair
  - id: num_places
    type: count
  - id: places
    type: place(_index)
    repeat: expr
    repeat-expr: num_places.value
  - id: steps
    type: step
    repeat: until
    repeat-until: _.is_last or _index == 9
  - id: len_tail
    type: u1
  - id: tail
    size: len_tail - 1
    type: tail
    if: len_tail > 0
instances:
  first_byte:
    pos: 0
    type: u1
  last_level:
    pos: 4 + name.size
    type: s2le
types:
  bits:
    seq:
      - id: a
        type: b3
      - id: b
        type: b1
      - id: c
        type: b4
  number:
    seq:
      - id: value
        type: u4
  pair:
    seq:
      - id: left
        type: u2
      - id: right
        type: u2le
  count:
    seq:
      - id: plus_two
        type: kafka_unsigned_varint
    instances:
      value:
        value: plus_two.value - 2
  place:
    params:
      - id: index
        type: s4
    seq:
      - id: x
        type: u1
    instances:
      sum:
        value: index + x
  step:
    seq:
      - id: code
        type: u1
    instances:
      is_last:
        value: code == 0
  tail:
    seq:
      - id: words
        type: u2
        repeat: eos
enums:
  kind:
    1: number
    2: pair
    3: other
