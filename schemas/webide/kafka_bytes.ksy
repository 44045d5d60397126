meta:
  id: kafka_bytes
  title: Bytes of a key or a value, shown as text where they are text
  application: Kaitai Web IDE
  license: CC0-1.0
  ks-version: '0.11'
doc: |
  Any bytes, for the eye: no format of Kafka's, to which keys and values are
  opaque. They are taken for text if the first 64 have no control characters
  but line breaks and tabs, and begin and end as UTF-8 may. What is no UTF-8 all
  the same shows as U+FFFD.
-webide-representation: '{words}{binary}'
seq:
  - id: text
    type: str
    encoding: UTF-8
    size-eos: true
    if: is_text
  - id: binary
    type: binary
    size-eos: true
    if: not is_text
instances:
  head:
    pos: 0
    size: '_io.size < 64 ? _io.size : 64'
    doc: The bytes that are looked at.
  is_text:
    value: >-
      head.length == 0
      or ((head.min >= 32 or head.min == 9 or head.min == 10 or head.min == 13)
      and head.max <= 0xf4 and head.max != 0x7f
      and (head[0] < 0x80 or head[0] >= 0xc2)
      and (_io.size > 64 or head[head.length - 1] < 0xc0))
  words:
    value: >-
      not is_text ? '' : _io.size <= 64 ? '"' + text + '"'
      : '"' + text.substring(0, head.to_s('UTF-8').length - 1) + '…", '
      + _io.size.to_s + ' bytes'
types:
  binary:
    -webide-representation: '{first:hex}{words}'
    seq:
      - id: first
        size: '_io.size < 16 ? _io.size : 16'
      - id: rest
        size-eos: true
        if: _io.size > 16
    instances:
      words:
        value: "_io.size <= 16 ? '' : '…, ' + _io.size.to_s + ' bytes'"
  null_bytes:
    doc: No bytes at all, which is not the same as an empty text.
    -webide-representation: 'null'
    seq: []
