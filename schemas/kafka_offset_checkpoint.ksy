meta:
  id: kafka_offset_checkpoint
  title: Apache Kafka offset checkpoint
  application: Apache Kafka
  license: CC0-1.0
  ks-version: '0.10'
doc: |
  Text file.
seq:
  - id: version_text
    terminator: 0x0a
    eos-error: false
  - id: num_entries_text
    terminator: 0x0a
    eos-error: false
  - id: entries
    type: entry
    terminator: 0x0a
    eos-error: false
    repeat: eos
instances:
  version:
    value: version_text.to_s('ASCII').to_i
  num_entries:
    value: num_entries_text.to_s('ASCII').to_i
types:
  entry:
    seq:
      - id: topic_bytes
        terminator: 0x20
      - id: partition_text
        terminator: 0x20
      - id: offset_text
        size-eos: true
    instances:
      topic:
        value: topic_bytes.to_s('UTF-8')
      partition:
        value: partition_text.to_s('ASCII').to_i
      offset:
        value: offset_text.to_s('ASCII').to_i
