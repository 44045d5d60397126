meta:
  id: aiven_chunk_sizes
  title: Sizes of a tiered segment's chunks (Aiven)
  application: Aiven's tiered storage for Apache Kafka
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  How many bytes each chunk of a tiered segment has in its `.log` object. A
  segment is cut into chunks of one size, which are then compressed one by one
  and put behind each other.

  The manifest of the segment (`.rsm-manifest`, JSON) has it as
  `chunkIndex.transformedChunks`, compressed with zstd, in base64.
doc-ref: https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/8fb15816df2d0b3f880b76e5ac0a14b64dd790d9/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/serde/ChunkSizesBinaryCodec.java
seq:
  - id: num_chunks
    -orig-id: count
    type: s4
    valid:
      min: 0
  - id: base
    -orig-id: base
    type: s4
    valid:
      min: 0
    if: num_chunks > 1
    doc: The least of all sizes but the last.
  - id: len_difference
    -orig-id: bytesPerValue
    type: u1
    valid:
      min: 1
      max: 4
    if: num_chunks > 1
  - id: differences
    -orig-id: onBase
    type: difference
    repeat: expr
    repeat-expr: num_chunks - 1
    if: num_chunks > 1
  - id: len_last
    -orig-id: lastValue
    type: s4
    valid:
      min: 0
    if: num_chunks > 0
    doc: The size of the last chunk, which is mostly smaller than the others.
types:
  difference:
    doc: |
      What a chunk has more than `base`: an unsigned integer in as few bytes as
      the greatest one takes. The writer reads what four bytes make of 2^31 or
      more as negative; no such chunk is ever written.
    -webide-representation: '+{value:dec}'
    seq:
      - id: octets
        -orig-id: valBuf
        type: u1
        repeat: expr
        repeat-expr: _root.len_difference
    instances:
      len:
        value: octets.size
      value:
        value: |
          (((octets[len - 1].as<s8>
          + (len > 1 ? (octets[len - 2].as<s8>
          * 0x100.as<s8>).as<s8> : 0.as<s8>)).as<s8>
          + (len > 2 ? (octets[len - 3].as<s8>
          * 0x1_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
          + (len > 3 ? (octets[len - 4].as<s8>
          * 0x100_0000.as<s8>).as<s8> : 0.as<s8>)).as<s8>
