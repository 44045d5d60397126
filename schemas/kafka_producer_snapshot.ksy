meta:
  id: kafka_producer_snapshot
  title: Apache Kafka producer state snapshot
  application: Apache Kafka (0.11.0 and later)
  file-extension: snapshot
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
doc: |
  What a partition's leader remembers of producers (sequence numbers, open
  transactions), as it was before the offset that the file is named by.
doc-ref:
  - https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/log/ProducerStateManager.java
  - https://github.com/apache/kafka/blob/4.3.1/storage/src/main/resources/message/ProducerSnapshot.json
seq:
  - id: version
    -orig-id: version
    -default: 1
    type: s2
    valid: 1
  - id: crc
    -orig-id: Crc
    -checksum:
      algorithm: crc32c
      region: crc_region
    type: u4
    doc: CRC-32C (Castagnoli) of `crc_region`.
  - id: num_producer_entries
    type: s4
    valid:
      min: 0
  - id: producer_entries
    -orig-id: ProducerEntries
    type: producer_entry
    repeat: expr
    repeat-expr: num_producer_entries
instances:
  ofs_crc_region:
    value: version._sizeof + crc._sizeof
    doc: Where `crc_region` begins.
  crc_region:
    pos: ofs_crc_region
    size-eos: true
    doc: |
      What the checksum covers: all that follows, also what might stand behind
      the entries.
types:
  producer_entry:
    -orig-id: ProducerEntry
    -webide-representation: 'producer {producer_id:dec}, epoch {epoch:dec}'
    seq:
      - id: producer_id
        -orig-id: ProducerId
        type: s8
      - id: epoch
        -orig-id: Epoch
        type: s2
      - id: last_sequence
        -orig-id: LastSequence
        -default: -1
        type: s4
        doc: The sequence number of the last record; -1 if there is none.
      - id: last_offset
        -orig-id: LastOffset
        -default: -1
        type: s8
        doc: |
          The offset of the last record. -1 if there is none, because only
          markers are left.
      - id: offset_delta
        -orig-id: OffsetDelta
        -default: 0
        type: s4
        doc: The last offset of the last batch, minus its first.
      - id: timestamp
        -orig-id: Timestamp
        -default: -1
        type: s8
        doc: Of the last record or marker, in milliseconds since 1970.
      - id: coordinator_epoch
        -orig-id: CoordinatorEpoch
        -default: -1
        type: s4
        doc: |
          The epoch of the transaction coordinator that sent the last marker;
          -1 for none.
      - id: current_txn_first_offset
        -orig-id: CurrentTxnFirstOffset
        -default: -1
        type: s8
        doc: The first offset of the open transaction; -1 if none is open.
