meta:
  id: kafka_transaction_index
  title: Apache Kafka transaction index
  application: Apache Kafka (0.11.0 and later)
  file-extension: txnindex
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
doc: |
  The transactions whose abort marker is in a `.log`: the `.txnindex` of the
  same name. There is none where no transaction was aborted. The records of a
  transaction may be in earlier segments.
doc-ref:
  - https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/log/TransactionIndex.java
  - https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/log/AbortedTxn.java
seq:
  - id: entries
    type: aborted_txn
    repeat: eos
types:
  aborted_txn:
    -orig-id: AbortedTxn
    -webide-representation: '{first_offset:dec} to {last_offset:dec}'
    seq:
      - id: version
        -orig-id: version
        -default: 0
        type: s2
        doc: 0 is the only one so far.
      - id: producer_id
        -orig-id: producerId
        type: s8
      - id: first_offset
        -orig-id: firstOffset
        type: s8
        doc: The offset of the transaction's first record in this partition.
      - id: last_offset
        -orig-id: lastOffset
        type: s8
        doc: The offset of the abort marker. It grows from entry to entry.
      - id: last_stable_offset
        -orig-id: lastStableOffset
        type: s8
        doc: |
          The last stable offset when the marker had been appended: nothing
          before it was in an open transaction any more.
