meta:
  id: bus_trace
  title: Trace of a bus
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
seq:
  - id: magic
    contents: BUST
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    seq:
      - id: time
        type: u4
        -record-column: int64
      - id: tag
        type: u1
        enum: tag
        -record-column: int32
      - id: len_body
        type: u2
      - id: body
        size: len_body
        type:
          switch-on: tag
          cases:
            'tag::frame': frame
            'tag::position': position
            'tag::text': text
  frame:
    meta:
      endian: le
    seq:
      - id: address
        type: u4
        -record-column: int64
      - id: data
        size-eos: true
        -record-column: binary
  position:
    seq:
      - id: latitude
        type: f8
        -record-column: float64
      - id: longitude
        type: f8
        -record-column: float64
  text:
    seq:
      - id: text
        type: str
        size-eos: true
        encoding: UTF-8
        -record-column: utf8
enums:
  tag:
    1: frame
    2: position
    3: text
