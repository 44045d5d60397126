meta:
  id: kafka_leader_epoch_checkpoint
  title: Apache Kafka leader epoch checkpoint
  application: Apache Kafka (0.11.0 and later)
  -file-name: leader-epoch-checkpoint
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
doc: |
  The leader epochs of a partition and the first offset of each: the file
  `leader-epoch-checkpoint` in the partition's directory.

  It is a text: a line with the version, a line with the number of entries,
  then a line for each. A file without a byte stands for no entries at all.

  What is read are bytes; the numbers are instances. If the bytes of one are
  not digits, languages differ in what they make of it.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/checkpoint/LeaderEpochCheckpointFile.java
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
    -webide-representation: '{epoch:dec} from {start_offset:dec}'
    seq:
      - id: epoch_text
        terminator: 0x20
      - id: start_offset_text
        size-eos: true
    instances:
      epoch:
        -orig-id: epoch
        value: epoch_text.to_s('ASCII').to_i
      start_offset:
        -orig-id: startOffset
        value: start_offset_text.to_s('ASCII').to_i.as<s8>
