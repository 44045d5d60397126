# Prints segments and varints as ../reference.py describes. usage: ruby -I <runtime> -I <classes> read.rb FILE...
require 'kafka_log_segment'
require 'kafka_unsigned_varint'

VARINTS = [KafkaVarint, KafkaVarlong, KafkaUnsignedVarint].freeze
KINDS = KafkaControlRecordKey::I__CONTROL_RECORD_TYPE

def hex(data)
  data.unpack1('H*')
end

def text(data)
  return '-' if data.nil?
  data.empty? ? '.' : hex(data)
end

# An integer as languages with integers of fixed width hold it.
def wrapped(value, bits)
  (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
end

def known(names, value)
  names.fetch(value, '?')
end

def flag(value)
  value ? 1 : 0
end

def control(body)
  key = body.control_key
  kind = known(KINDS, key.record_type)
  detail = '-'
  if [0, 1, 2].include?(kind) && body.len_value.value >= 0
    content = body.control_value.content
    detail = kind == 2 ? content.leader_id : content.coordinator_epoch
  end
  "control #{key.version} #{kind} #{detail}"
rescue StandardError
  'control error'
end

def record(body)
  headers = body.headers.map { |one| " #{hex(one.key)}=#{text(one.len_value.value >= 0 ? one.value : nil)}" }
  puts "record #{wrapped(body.offset, 64)} #{wrapped(body.timestamp, 64)} #{wrapped(body.sequence, 32)} " \
       "#{text(body.len_key.value >= 0 ? body.key : nil)} " \
       "#{text(body.len_value.value >= 0 ? body.value : nil)}#{headers.join}"
  puts control(body) if body.is_control_record
end

def batch(found)
  bits = found.attributes
  codec = known(KafkaRecordBatchV2::I__COMPRESSION, bits.compression)
  type = known(KafkaRecordBatchV2::I__TIMESTAMP_TYPE, bits.timestamp_type)
  puts ['batch', found.partition_leader_epoch, found.crc, codec, type, flag(bits.is_transactional),
        flag(bits.is_control), flag(bits.has_delete_horizon), found.last_offset_delta, found.base_timestamp,
        found.max_timestamp, found.producer_id, found.producer_epoch, found.base_sequence, found.num_records,
        found.payload.bytesize].join(' ')
  found.records.each { |one| record(one.body) } if codec == 0
end

def message(found)
  codec = known(KafkaMessageLegacy::I__COMPRESSION, found.header.attributes.compression)
  puts "message #{found.offset} #{found.timestamp_value} #{found.timestamp_type} #{found.header.crc} #{codec} " \
       "#{text(found.len_key >= 0 ? found.key : nil)} #{text(found.len_value >= 0 ? found.value : nil)}"
end

def entry(found)
  if found.is_padding
    puts "padding #{found.padding.bytesize}"
  elsif !found.is_complete
    puts "partial #{found.partial.bytesize}"
  else
    magic = found.body.magic
    puts "entry #{found.base_offset} #{found.len_body} #{magic}"
    begin
      content = found.body.content
      magic == 2 ? batch(content) : (message(content) if [0, 1].include?(magic))
    rescue StandardError
      puts 'error'
    end
  end
end

def varint(kind, data)
  found = VARINTS[kind].new(Kaitai::Struct::Stream.new(data))
  puts "varint #{kind} #{found.value} #{found.len}"
rescue StandardError
  puts "varint #{kind} error"
end

ARGV.each_with_index do |file, index|
  puts "file #{index}"
  data = File.binread(file)
  if file.end_with?('.varints')
    at = 0
    while at < data.bytesize
      size = data.getbyte(at + 1)
      varint(data.getbyte(at), data.byteslice(at + 2, size))
      at += 2 + size
    end
  else
    KafkaLogSegment.new(Kaitai::Struct::Stream.new(data)).entries.each { |one| entry(one) }
  end
end
