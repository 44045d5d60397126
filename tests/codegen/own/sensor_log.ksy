meta:
  id: sensor_log
  title: Readings of a weather station
  file-extension: slog
  license: CC0-1.0
  ks-version: '0.11'
  encoding: UTF-8
  endian: le
doc: A header, then readings to the end of the file.
seq:
  - id: magic
    contents: [0x89, SLOG]
  - id: version
    type: u1
    valid: 1
  - id: station
    type: strz
    doc: Where it stands.
  - id: readings
    type: reading
    repeat: eos
types:
  reading:
    seq:
      - id: time
        type: s8
        doc: Milliseconds since 1970.
        -record-column: timestamp[ms, UTC]
      - id: quantity
        type: u1
        enum: quantity
        -record-column: int32
      - id: value
        type: f4
        -record-column: float32
      - id: exact
        type: f8be
        if: quantity == quantity::position
        -record-column: float64
      - id: sensor
        type: strz
        size: 8
        encoding: ASCII
        -record-column: utf8
      - id: note
        type: strz
        -record-column: utf8
enums:
  quantity:
    1: temperature
    2: pressure
    3: position
