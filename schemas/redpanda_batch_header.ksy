meta:
  id: redpanda_batch_header
  title: Redpanda record batch header on disk
  application: Redpanda
  file-extension: log
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: le
doc: |
  How a batch begins in the `.log` files of Redpanda, which speaks Kafka's
  protocol but keeps another format on disk: little-endian, and with a checksum
  of the header in front. The records follow, in Kafka's format.

  It is here so that such a file can be recognised and named.
doc-ref:
  - https://github.com/redpanda-data/redpanda/blob/dev/src/v/model/record.h model::record_batch_header
  - https://github.com/redpanda-data/redpanda/blob/0dec53582d2a5881948ae9ec669d2ace34511d26/tools/offline_log_viewer/storage.py
seq:
  - id: header_crc
    -orig-id: header_crc
    -checksum:
      algorithm: crc32c
      region: header_crc_region
    type: u4
    doc: CRC-32C (Castagnoli) of `header_crc_region`.
  - id: len_batch
    -orig-id: size_bytes
    type: s4
    doc: The size of the whole batch, this header included.
  - id: base_offset
    -orig-id: base_offset
    type: s8
  - id: batch_type
    -orig-id: type
    type: s1
    doc: What the records are; 1 for those of producers.
  - id: crc
    -orig-id: crc
    type: u4
    doc: |
      Kafka's own checksum: CRC-32C of the fields that follow, but big-endian,
      and of the records.
  - id: attributes
    -orig-id: attrs
    type: s2
    doc: The bits are those of `kafka_record_batch_v2`.
  - id: last_offset_delta
    -orig-id: last_offset_delta
    type: s4
  - id: first_timestamp
    -orig-id: first_timestamp
    type: s8
  - id: max_timestamp
    -orig-id: max_timestamp
    type: s8
  - id: producer_id
    -orig-id: producer_id
    type: s8
  - id: producer_epoch
    -orig-id: producer_epoch
    type: s2
  - id: base_sequence
    -orig-id: base_sequence
    type: s4
  - id: num_records
    -orig-id: record_count
    type: s4
instances:
  len_header:
    value: sizeof<redpanda_batch_header>
    doc: The size of the fields above.
  header_crc_region:
    pos: header_crc._sizeof
    size: len_header - header_crc._sizeof
    doc: What `header_crc` covers, from `len_batch` to `num_records`.
