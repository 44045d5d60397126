meta:
  id: kafka_control_record_key
  title: Apache Kafka control record key
  application: Apache Kafka (0.11.0 and later)
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
doc: |
  The key of every record in a control batch. It says what the value is.

  Kafka reads a key of a later version as if it were of version 0, and leaves
  what follows alone; so does this.
doc-ref:
  - https://kafka.apache.org/documentation/#controlbatch
  - https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/common/record/internal/ControlRecordType.java
-webide-representation: '{record_type}'
seq:
  - id: version
    -orig-id: version
    -default: 0
    type: s2
    doc: Writers use 0. Kafka refuses negative versions.
  - id: record_type
    -orig-id: type
    type: s2
    enum: control_record_type
enums:
  control_record_type:
    0:
      id: abort
      -orig-id: ABORT
      doc: The transaction of this producer ends here, its records do not count.
    1:
      id: commit
      -orig-id: COMMIT
      doc: The transaction of this producer ends here, its records count.
    2:
      id: leader_change
      -orig-id: LEADER_CHANGE
      doc: First record of a new leader of a KRaft quorum (KIP-595).
    3:
      id: snapshot_header
      -orig-id: SNAPSHOT_HEADER
      doc: First record of a KRaft snapshot (KIP-630).
    4:
      id: snapshot_footer
      -orig-id: SNAPSHOT_FOOTER
      doc: Last record of a KRaft snapshot (KIP-630).
    5:
      id: kraft_version
      -orig-id: KRAFT_VERSION
      doc: The version of the KRaft protocol from here on (KIP-853).
    6:
      id: kraft_voters
      -orig-id: KRAFT_VOTERS
      doc: The voters of the KRaft quorum from here on (KIP-853).
