meta:
  id: kafka_control_record_value
  title: Apache Kafka control record value
  application: Apache Kafka (0.11.0 and later)
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - kafka_control_record_key
    - kafka_tagged_fields
    - kafka_unsigned_varint
  endian: be
doc: |
  The value of a record of a control batch; what it is stands in its key.
  Further bytes are left alone, as Kafka does.
doc-ref: https://kafka.apache.org/documentation/#controlbatch
params:
  - id: type
    type: s2
    enum: kafka_control_record_key::control_record_type
    doc: The type from the record's key.
seq:
  - id: content
    type:
      switch-on: type
      cases:
        kafka_control_record_key::control_record_type::abort: end_txn_marker
        kafka_control_record_key::control_record_type::commit: end_txn_marker
        kafka_control_record_key::control_record_type::leader_change: leader_change_message
        kafka_control_record_key::control_record_type::snapshot_header: snapshot_header_record
        kafka_control_record_key::control_record_type::snapshot_footer: snapshot_footer_record
        kafka_control_record_key::control_record_type::kraft_version: k_raft_version_record
        kafka_control_record_key::control_record_type::kraft_voters: voters_record
types:
  end_txn_marker:
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid:
          min: 0
      - id: coordinator_epoch
        -orig-id: CoordinatorEpoch
        type: s4
  leader_change_message:
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid:
          min: 0
          max: 1
      - id: leader_id
        -orig-id: LeaderId
        type: s4
      - id: num_voters
        type: compact_array_length
      - id: voters
        -orig-id: Voters
        type: leader_change_voter(version)
        repeat: expr
        repeat-expr: num_voters.value
      - id: num_granting_voters
        type: compact_array_length
      - id: granting_voters
        -orig-id: GrantingVoters
        type: leader_change_voter(version)
        repeat: expr
        repeat-expr: num_granting_voters.value
      - id: tagged_fields
        type: kafka_tagged_fields
  leader_change_voter:
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
      - id: tagged_fields
        type: kafka_tagged_fields
  snapshot_header_record:
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid: 0
      - id: last_contained_log_timestamp
        -orig-id: LastContainedLogTimestamp
        type: s8
      - id: tagged_fields
        type: kafka_tagged_fields
  snapshot_footer_record:
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid: 0
      - id: tagged_fields
        type: kafka_tagged_fields
  k_raft_version_record:
    seq:
      - id: version
        -orig-id: Version
        type: s2
        valid: 0
      - id: k_raft_version
        -orig-id: KRaftVersion
        type: s2
      - id: tagged_fields
        type: kafka_tagged_fields
  voters_record:
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
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        size: 16
      - id: num_endpoints
        type: compact_array_length
      - id: endpoints
        -orig-id: Endpoints
        type: endpoint
        repeat: expr
        repeat-expr: num_endpoints.value
      - id: k_raft_version_feature
        -orig-id: KRaftVersionFeature
        type: k_raft_version_feature
      - id: tagged_fields
        type: kafka_tagged_fields
  endpoint:
    seq:
      - id: name
        -orig-id: Name
        type: compact_string
      - id: host
        -orig-id: Host
        type: compact_string
      - id: port
        -orig-id: Port
        type: u2
      - id: tagged_fields
        type: kafka_tagged_fields
  k_raft_version_feature:
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
    seq:
      - id: raw
        type: kafka_unsigned_varint
        valid:
          expr: _.value >= 1
    instances:
      value:
        value: raw.value - 1
  compact_string:
    seq:
      - id: raw_len
        type: kafka_unsigned_varint
        valid:
          expr: _.value >= 1
      - id: data
        size: raw_len.value - 1
    instances:
      text:
        value: data.to_s('UTF-8')
