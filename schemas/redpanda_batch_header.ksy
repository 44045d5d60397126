meta:
  id: redpanda_batch_header
  title: Redpanda batch header on disk
  application: Redpanda
  file-extension: log
  license: CC0-1.0
  ks-version: '0.10'
  endian: le
  bit-endian: be
doc: |
  The head of a batch in Redpanda's own log files.
seq:
  - id: header_crc
    type: u4
  - id: len_batch
    -orig-id: size_bytes
    type: s4
  - id: base_offset
    type: s8
  - id: type
    type: s1
  - id: crc
    type: u4
  - id: attributes
    -orig-id: attrs
    type: s2
  - id: last_offset_delta
    type: s4
  - id: first_timestamp
    type: s8
  - id: max_timestamp
    type: s8
  - id: producer_id
    type: s8
  - id: producer_epoch
    type: s2
  - id: base_sequence
    type: s4
  - id: num_records
    -orig-id: record_count
    type: s4
instances:
  len_header:
    value: sizeof<redpanda_batch_header>
  header_crc_region:
    pos: header_crc._sizeof
    size: len_header - header_crc._sizeof
