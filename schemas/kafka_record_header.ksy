meta:
  id: kafka_record_header
  title: Apache Kafka record header
  application: Apache Kafka (0.11.0 and later)
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_varint
doc: |
  One of a record's headers: a key that is never null (it may be empty, and may
  occur again in the same record) and a value that may be.

  Keys are meant to be UTF-8, but a broker never looks, so they are bytes here;
  `key_text` is the text for those that are.
doc-ref: https://kafka.apache.org/documentation/#recordheader
-webide-representation: '{key_text}'
seq:
  - id: len_key
    -orig-id: headerKeyLength
    type: kafka_varint
  - id: invalid_len_key
    size: 0
    valid: '[0]'
    if: len_key.value < 0
    doc: Never there, a check.
  - id: key
    -orig-id: headerKey
    -record-column: binary
    size: len_key.value
  - id: len_value
    -orig-id: headerValueLength
    -null: -1
    type: kafka_varint
    doc: Negative for null; writers use -1, Kafka accepts any.
  - id: value
    -orig-id: Value
    -record-column: binary
    size: len_value.value
    if: len_value.value >= 0
    doc: Not there if it is null, empty if it is empty.
instances:
  key_text:
    value: key.to_s('UTF-8')
    doc: |
      The key as text. If the bytes are not UTF-8, languages differ: Python
      raises an error, JavaScript puts U+FFFD in their place (as Java does).
