meta:
  id: kafka_offset_checkpoint
  title: Apache Kafka offset checkpoint
  application: Apache Kafka
  -file-name:
    - replication-offset-checkpoint
    - recovery-point-offset-checkpoint
    - log-start-offset-checkpoint
    - cleaner-offset-checkpoint
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
doc: |
  One offset for each partition of a log directory. The name of the file says
  which: `log-start-offset-checkpoint`, `recovery-point-offset-checkpoint`,
  `replication-offset-checkpoint`, `cleaner-offset-checkpoint`.

  It is a text: a line with the version, a line with the number of entries,
  then a line for each. A file without a byte stands for no entries at all.

  What is read are bytes; the numbers are instances. If the bytes of one are
  not digits, languages differ in what they make of it.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/checkpoint/OffsetCheckpointFile.java
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
    -orig-id: version
    value: version_text.to_s('ASCII').to_i
    if: version_text.size > 0
    doc: 0 is the only one so far.
  num_entries:
    -orig-id: entries-count
    value: num_entries_text.to_s('ASCII').to_i
    if: num_entries_text.size > 0
    doc: Kafka refuses a file in which this is not the number of entries.
types:
  entry:
    -webide-representation: '{topic}-{partition:dec}: {offset:dec}'
    seq:
      - id: topic_bytes
        terminator: 0x20
      - id: partition_text
        terminator: 0x20
      - id: offset_text
        size-eos: true
    instances:
      topic:
        -orig-id: topic
        value: topic_bytes.to_s('UTF-8')
      partition:
        -orig-id: partition
        value: partition_text.to_s('ASCII').to_i
      offset:
        -orig-id: offset
        value: offset_text.to_s('ASCII').to_i.as<s8>
