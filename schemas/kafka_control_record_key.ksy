meta:
  id: kafka_control_record_key
  title: Apache Kafka control record key
  application: Apache Kafka (0.11.0 and later)
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
doc: |
  The key of every record of a control batch. Later versions may be longer:
  Kafka reads them as version 0 and does not look at the rest.
doc-ref: https://kafka.apache.org/documentation/#controlbatch
-webide-representation: '{type}'
seq:
  - id: version
    -orig-id: version
    type: s2
    valid:
      min: 0
  - id: type
    -orig-id: type
    type: s2
    enum: control_record_type
enums:
  control_record_type:
    0:
      id: abort
      -orig-id: ABORT
      doc: Ends a transaction whose records do not count.
    1:
      id: commit
      -orig-id: COMMIT
      doc: Ends a transaction whose records count.
    2:
      id: leader_change
      -orig-id: LEADER_CHANGE
      doc: A KRaft leader's first record (KIP-595).
      doc-ref: https://cwiki.apache.org/confluence/display/KAFKA/KIP-595%3A+A+Raft+Protocol+for+the+Metadata+Quorum
    3:
      id: snapshot_header
      -orig-id: SNAPSHOT_HEADER
      doc: The first record of a KRaft snapshot (KIP-630).
    4:
      id: snapshot_footer
      -orig-id: SNAPSHOT_FOOTER
      doc: The last record of a KRaft snapshot (KIP-630).
    5:
      id: kraft_version
      -orig-id: KRAFT_VERSION
      doc: The version of the KRaft protocol in use (KIP-853).
    6:
      id: kraft_voters
      -orig-id: KRAFT_VOTERS
      doc: The voters of a KRaft quorum (KIP-853).
