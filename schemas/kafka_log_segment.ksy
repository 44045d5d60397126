meta:
  id: kafka_log_segment
  title: Apache Kafka log segment
  application: Apache Kafka (0.8.0 and later)
  file-extension: log
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_message_legacy
    - kafka_record_batch_v2
  endian: be
doc: |
  What a partition keeps its records in: entries one after the other to the end
  of the file, without a file header. It is also what the records field of a
  Produce request or a Fetch response holds, and a KRaft snapshot
  (`.checkpoint`).

  An entry is a record batch of magic 2, or a message of magic 0 or 1. All three
  begin with an offset and a size and have the magic at the same place, so that
  one file may hold all of them.

  The last entry may be cut off, where a broker was killed or the file was
  copied while it was written. A file that was allocated beforehand
  (`preallocate=true`) ends in zeros until it is full or the broker stops.

  This schema opens a file entry by entry, and does not look for the next true
  entry behind damage: what is damaged is shown as `partial`, to the end.
doc-ref:
  - https://kafka.apache.org/documentation/#log
  - https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/common/record/internal/FileLogInputStream.java
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -webide-representation: 'offset {base_offset:dec}, {len_body:dec} bytes'
    seq:
      - id: base_offset
        -orig-id:
          - baseOffset
          - offset
        -default: 0
        -batch-column: int64
        type: s8
        if: has_log_overhead
        doc: |
          Magic 2: the offset of the batch's first record (as it was written:
          compaction may have removed it). Magic 0 and 1: the offset of the
          message; if it is compressed, that of the last one inside.
      - id: len_body
        -orig-id:
          - batchLength
          - message_size
        -batch-column: int32
        type: s4
        if: has_log_overhead
        doc: The size of what follows.
      - id: body
        size: len_body.as<s4>
        type: entry_body
        if: is_complete
      - id: padding
        size-eos: true
        if: is_padding
        doc: |
          The zeros at the end of a file that was allocated beforehand. (The
          first twelve of them were read as `base_offset` and `len_body`.)
      - id: partial
        size-eos: true
        if: not (is_complete or is_padding)
        doc: |
          An entry that is cut off by the end of the file. Or that is damaged,
          if `len_body` is less than any entry can have.
    instances:
      has_log_overhead:
        value: >-
          (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
          >= (sizeof<s8> + sizeof<s4>).as<s8>
        doc: Whether there are enough bytes for `base_offset` and `len_body`.
      is_complete:
        value: >-
          has_log_overhead and len_body >= sizeof<entry_body::least>
          and len_body.as<s8> <= (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
      is_padding:
        value: has_log_overhead and base_offset == 0 and len_body == 0
  entry_body:
    instances:
      magic:
        -orig-id: magic
        -webide-parse-mode: eager
        pos: sizeof<u4>
        type: s1
      content:
        pos: 0
        size-eos: true
        type:
          switch-on: magic
          cases:
            0: kafka_message_legacy(_parent.base_offset.as<s8>)
            1: kafka_message_legacy(_parent.base_offset.as<s8>)
            2: kafka_record_batch_v2(_parent.base_offset.as<s8>)
            _: unknown_content
        doc: |
          An instance, so that a damaged entry does not keep the others from
          being shown.
    types:
      least:
        doc: |
          The fields that no entry is without, whatever its magic. It is a
          message of magic 0 with neither key nor value.
        seq:
          - id: crc
            -orig-id: crc
            type: u4
          - id: magic
            -orig-id: magic
            type: s1
          - id: attributes
            -orig-id: attributes
            type: s1
          - id: len_key
            -orig-id: keySize
            type: s4
          - id: len_value
            -orig-id: valueSize
            type: s4
  unknown_content:
    doc: |
      What an entry holds whose magic is unknown. A type of its own, since some
      languages have no field that holds objects or bytes.
    seq:
      - id: data
        size-eos: true
  entry_prefix:
    doc: |
      How an entry begins, whatever its magic. No part of `entries`: this is for
      programs that walk through a segment without reading it whole, or look
      for the next entry behind damage, and that want to know from here where
      things are.
    seq:
      - id: base_offset
        -orig-id:
          - baseOffset
          - offset
        type: s8
      - id: len_body
        -orig-id:
          - batchLength
          - message_size
        type: s4
      - id: leader_epoch_or_crc
        size: 4
        doc: '`partition_leader_epoch` in magic 2, `crc` in magic 0 and 1.'
      - id: magic
        -orig-id:
          - magic
          - magic_byte
        type: s1
    instances:
      len_log_overhead:
        -orig-id: LOG_OVERHEAD
        value: base_offset._sizeof + len_body._sizeof
        doc: The size of what `len_body` does not count.
      len_prefix:
        -orig-id: HEADER_SIZE_UP_TO_MAGIC
        value: sizeof<entry_prefix>
        doc: The size of this prefix.
      ofs_len_body:
        -orig-id: SIZE_OFFSET
        value: base_offset._sizeof
        doc: Where `len_body` is, from the beginning of the entry.
      ofs_magic:
        -orig-id: MAGIC_OFFSET
        value: len_prefix - magic._sizeof
        doc: Where `magic` is, from the beginning of the entry.
      min_len_body:
        value: >-
          magic == 2 ? sizeof<kafka_record_batch_v2> : sizeof<entry_body::least>
        doc: The least that `len_body` can be with this magic.
      len_entry:
        value: (len_log_overhead.as<s8> + len_body.as<s8>).as<s8>
        doc: The size of the whole entry.
