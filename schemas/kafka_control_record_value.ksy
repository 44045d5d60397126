meta:
  id: kafka_control_record_value
  title: Apache Kafka control record value
  application: Apache Kafka (0.11.0 and later)
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_control_record_key
    - kafka_tagged_fields
    - kafka_unsigned_varint
  endian: be
doc: |
  The value of a record in a control batch; the record's key says of which
  type it is. Bytes behind what is known are left alone, as Kafka does.

  The markers that end a transaction are as old as transactions. All others
  belong to KRaft and are flexible messages: the names and types of their
  fields are those of the JSON files in Kafka's source. They have no version in
  front; their first field tells it.
doc-ref:
  - https://kafka.apache.org/documentation/#controlbatch
  - https://github.com/apache/kafka/tree/4.3.1/clients/src/main/resources/common/message
params:
  - id: record_type
    type: s2
    enum: kafka_control_record_key::control_record_type
    doc: The type that the record's key tells.
seq:
  - id: content
    type:
      switch-on: record_type
      cases:
        kafka_control_record_key::control_record_type::abort: end_txn_marker
        kafka_control_record_key::control_record_type::commit: end_txn_marker
        kafka_control_record_key::control_record_type::leader_change: leader_change_message
        kafka_control_record_key::control_record_type::snapshot_header: snapshot_header_record
        kafka_control_record_key::control_record_type::snapshot_footer: snapshot_footer_record
        kafka_control_record_key::control_record_type::kraft_version: k_raft_version_record
        kafka_control_record_key::control_record_type::kraft_voters: voters_record
    doc: Not there if the type is unknown.
types:
  end_txn_marker:
    -orig-id: EndTxnMarker
    doc: Ends a transaction; whether as committed or aborted, the key says.
    seq:
      - id: version
        -orig-id: version
        -default: 0
        type: s2
        valid:
          min: 0
        doc: Writers use 0; Kafka reads later versions as if they were 0.
      - id: coordinator_epoch
        -orig-id: CoordinatorEpoch
        type: s4
        doc: Epoch of the transaction coordinator that had it written.
  leader_change_message:
    -orig-id: LeaderChangeMessage
    doc: A leader's first record after its election.
    seq:
      - id: version
        -orig-id: Version
        -default: 0
        type: s2
        valid:
          min: 0
          max: 1
        doc: Writers use 0.
      - id: leader_id
        -orig-id: LeaderId
        type: s4
        doc: The node that was elected.
      - id: num_voters
        type: compact_array_length
      - id: voters
        -orig-id: Voters
        type: leader_change_voter(version)
        repeat: expr
        repeat-expr: num_voters.value
        doc: All voters of the quorum in this epoch.
      - id: num_granting_voters
        type: compact_array_length
      - id: granting_voters
        -orig-id: GrantingVoters
        type: leader_change_voter(version)
        repeat: expr
        repeat-expr: num_granting_voters.value
        doc: Those who voted for the leader.
      - id: tagged_fields
        type: kafka_tagged_fields
  leader_change_voter:
    -orig-id: Voter
    params:
      - id: version
        type: s2
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        size: 16
        if: version >= 1
        doc: The uuid of the voter's log directory.
      - id: tagged_fields
        type: kafka_tagged_fields
  snapshot_header_record:
    -orig-id: SnapshotHeaderRecord
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid: 0
      - id: last_contained_log_timestamp
        -orig-id: LastContainedLogTimestamp
        type: s8
        doc: |
          Append time, in milliseconds, of the last record of the log that is
          in the snapshot.
      - id: tagged_fields
        type: kafka_tagged_fields
  snapshot_footer_record:
    -orig-id: SnapshotFooterRecord
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid: 0
      - id: tagged_fields
        type: kafka_tagged_fields
  k_raft_version_record:
    -orig-id: KRaftVersionRecord
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid: 0
      - id: k_raft_version
        -orig-id: KRaftVersion
        type: s2
        doc: The version of the KRaft protocol.
      - id: tagged_fields
        type: kafka_tagged_fields
  voters_record:
    -orig-id: VotersRecord
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid: 0
      - id: num_voters
        type: compact_array_length
      - id: voters
        -orig-id: Voters
        type: voter
        repeat: expr
        repeat-expr: num_voters.value
      - id: tagged_fields
        type: kafka_tagged_fields
  voter:
    -orig-id: Voter
    -webide-representation: '{voter_id:dec}'
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        size: 16
        doc: The uuid of the voter's log directory.
      - id: num_endpoints
        type: compact_array_length
      - id: endpoints
        -orig-id: Endpoints
        type: endpoint
        repeat: expr
        repeat-expr: num_endpoints.value
        doc: Where the voter can be reached.
      - id: k_raft_version_feature
        -orig-id: KRaftVersionFeature
        type: k_raft_version_feature
      - id: tagged_fields
        type: kafka_tagged_fields
  endpoint:
    -orig-id: Endpoint
    -webide-representation: '{name}: {host}:{port:dec}'
    seq:
      - id: name
        -orig-id: Name
        type: compact_string
        doc: The name of the listener.
      - id: host
        -orig-id: Host
        type: compact_string
      - id: port
        -orig-id: Port
        type: u2
      - id: tagged_fields
        type: kafka_tagged_fields
  k_raft_version_feature:
    -orig-id: KRaftVersionFeature
    doc: The versions of the KRaft protocol that a voter knows.
    -webide-representation: >-
      {min_supported_version:dec} to {max_supported_version:dec}
    seq:
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
      - id: tagged_fields
        type: kafka_tagged_fields
  compact_array_length:
    doc: |
      The count of a compact array is written plus one, 0 standing for null;
      none of these arrays may be null.
    -webide-representation: '{value:dec}'
    seq:
      - id: value_plus_one
        type: kafka_unsigned_varint
      - id: invalid_value
        size: 0
        valid: '[0]'
        if: >-
          value_plus_one.value < 1
          or value_plus_one.value > 0x7fff_ffff.as<s8>
        doc: Never there, a check; Kafka holds the count in a signed integer.
    instances:
      value:
        value: (value_plus_one.value - 1).as<s4>
  compact_string:
    doc: |
      The size of a compact string is written plus one, 0 standing for null;
      none of these strings may be null. 32767 bytes are the most.
    -webide-representation: '{text}'
    seq:
      - id: len_data_plus_one
        type: kafka_unsigned_varint
      - id: invalid_len_data
        size: 0
        valid: '[0]'
        if: >-
          len_data_plus_one.value < 1
          or len_data_plus_one.value > 0x8000.as<s8>
        doc: Never there, a check.
      - id: data
        size: len_data_plus_one.value - 1
    instances:
      text:
        value: data.to_s('UTF-8')
