meta:
  id: texts
  title: Every way in which bytes and texts end, and every kind of case
  license: CC0-1.0
  ks-version: '0.11'
  encoding: UTF-8
  endian: le
seq:
  - id: head
    type: head
  - id: rows
    type: row
    repeat: expr
    repeat-expr: head.num_rows
  - id: rest
    type: str
    size-eos: true
    encoding: ISO-8859-1
types:
  head:
    seq:
      - id: magic
        contents: [T, 0, XT]
      - id: num_rows
        type: u1
      - id: kind
        type: u1
        enum: kind
  row:
    seq:
      - id: line
        type: str
        terminator: 10
        include: true
        -record-column: utf8
      - id: word
        type: str
        terminator: 0x2c
        consume: false
        encoding: ASCII
        -record-column: utf8
      - id: comma
        contents: ','
      - id: padded
        type: str
        size: 5
        pad-right: 0x20
        -record-column: utf8
      - id: len_both
        type: u1
      - id: both
        size: len_both
        terminator: 0
        include: true
        pad-right: 0xff
        -record-column: binary
      - id: number
        type:
          switch-on: _root.head.kind
          cases:
            'kind::small': u1
            'kind::wide': s4be
            'kind::real': f4
            'kind::text': strz
      - id: inner
        type:
          switch-on: len_both % 3
          cases:
            0: point(len_both)
            1: other
      - id: last
        type: u1
        valid:
          max: 0x80
        -record-column: int32
    instances:
      label:
        value: 'len_both % 2'
        enum: kind
        -record-column:
          name: label
          type: int32
      half:
        value: last * 0.5
      joined:
        value: word + "/" + len_both.to_s
  point:
    params:
      - id: factor
        type: u1
    seq:
      - id: x
        type: s2
        -record-column: int32
      - id: y
        type: f8
        if: x > 0
        -record-column: float64
    instances:
      scaled:
        value: x * factor
        -record-column: int64
  other:
    seq:
      - id: flag
        type: u1
        -record-column: int32
enums:
  kind:
    0: small
    1: wide
    2: real
    3: text
