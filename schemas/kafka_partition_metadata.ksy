meta:
  id: kafka_partition_metadata
  title: Apache Kafka partition metadata
  application: Apache Kafka (2.8 and later)
  file-extension: metadata
  -file-name: partition.metadata
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.10'
doc: |
  The id of the topic that a partition belongs to: the file
  `partition.metadata` in its directory.

  It is a text of two lines, the second without an end. In front of each
  colon stands what is behind it; Kafka does not look at that.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/storage/src/main/java/org/apache/kafka/storage/internals/checkpoint/PartitionMetadataFile.java
seq:
  - id: version_label
    terminator: 0x3a
  - id: version_text
    terminator: 0x0a
  - id: topic_id_label
    terminator: 0x3a
  - id: topic_id_text
    size-eos: true
instances:
  version:
    -orig-id: version
    value: version_text.to_s('ASCII').to_i
    doc: 0 is the only one so far; Kafka reads later ones alike.
  topic_id:
    -orig-id: topic_id
    value: topic_id_text.to_s('ASCII')
    doc: |
      A UUID in 22 characters of base64url, behind a blank.
