meta:
  id: kafka_offset_index
  title: Apache Kafka offset index
  application: Apache Kafka
  file-extension: index
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
doc: |
  Where in a `.log` the batches of some offsets begin: the `.index` of the same
  name. There is an entry for every few KiB (`index.interval.bytes`).

  While a broker may append to the segment the file is as long as
  `segment.index.bytes`, and ends in zeros. A clean shutdown cuts them off.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/log/OffsetIndex.java
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -webide-representation: '+{relative_offset:dec} at {position:dec}'
    seq:
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        doc: |
          The last offset of what was appended there (up to Kafka 1.1 the
          first), minus the base offset of the segment, which is the file's
          name. What is above it stands there or behind.
      - id: position
        -orig-id: position
        type: s4
        doc: Where that batch begins in the `.log`.
    instances:
      is_padding:
        value: relative_offset == 0 and position == 0
        doc: |
          Whether this is no entry but room for one: the batch at position 0 is
          never indexed.
