meta:
  id: kafka_time_index
  title: Apache Kafka time index
  application: Apache Kafka (0.10.1 and later)
  file-extension: timeindex
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
doc: |
  From which offset on a `.log` holds later records: the `.timeindex` of the
  same name. Both values grow from entry to entry.

  While a broker may append to the segment the file is about as long as
  `segment.index.bytes`, and ends in zeros. A clean shutdown cuts them off.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/log/TimeIndex.java
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -webide-representation: '{timestamp:dec} at +{relative_offset:dec}'
    seq:
      - id: timestamp
        -orig-id: timestamp
        type: s8
        doc: |
          The largest timestamp in the segment up to `relative_offset`, in
          milliseconds since 1970.
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        doc: |
          The offset of a record with this timestamp, or the last one of its
          batch, minus the base offset of the segment.
    instances:
      is_zero:
        value: timestamp == 0 and relative_offset == 0
        doc: |
          Whether this is room for an entry. The first may be a true one: that
          of a record of 1970.
