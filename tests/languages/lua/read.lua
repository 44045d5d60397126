-- Prints segments and varints as ../reference.py describes. usage: lua read.lua <classes> <runtime> FILE...
package.path = arg[1] .. "/?.lua;" .. arg[2] .. "/?.lua;" .. package.path
require("kafka_log_segment")
require("kafka_unsigned_varint")
local string_stream = require("string_stream")

local VARINTS = { [0] = KafkaVarint, KafkaVarlong, KafkaUnsignedVarint }

local function say(...)
  io.write(table.concat(table.pack(...), " "), "\n")
end

local function hex(data)
  return (data:gsub(".", function(one) return string.format("%02x", one:byte()) end))
end

local function text(data)
  if data == nil then return "-" end
  return #data == 0 and "." or hex(data)
end

-- A member of an enum is a table with its number; a number without a name is nil.
local function known(member)
  return member and member.value or "?"
end

local function flag(value)
  return value and 1 or 0
end

-- 32 bits, where Lua computes in 64.
local function wrapped(value)
  return (value + 0x80000000) % 0x100000000 - 0x80000000
end

local function stream(data)
  return KaitaiStream(string_stream(data))
end

local function control(body)
  local key = body.control_key
  local kind, detail = known(key.record_type), "-"
  if kind ~= "?" and kind <= 2 and body.len_value.value >= 0 then
    local content = body.control_value.content
    detail = kind == 2 and content.leader_id or content.coordinator_epoch
  end
  return "control " .. key.version .. " " .. kind .. " " .. detail
end

local function record(body)
  local line = { "record", body.offset, body.timestamp, wrapped(body.sequence),
    text(body.len_key.value >= 0 and body.key or nil), text(body.len_value.value >= 0 and body.value or nil) }
  for _, header in ipairs(body.headers) do
    line[#line + 1] = hex(header.key) .. "=" .. text(header.len_value.value >= 0 and header.value or nil)
  end
  say(table.unpack(line))
  if body.is_control_record then
    local is_read, found = pcall(control, body)
    say(is_read and found or "control error")
  end
end

local function batch(found)
  local bits = found.attributes
  say("batch", found.partition_leader_epoch, found.crc, known(bits.compression), known(bits.timestamp_type),
    flag(bits.is_transactional), flag(bits.is_control), flag(bits.has_delete_horizon), found.last_offset_delta,
    found.base_timestamp, found.max_timestamp, found.producer_id, found.producer_epoch, found.base_sequence,
    found.num_records, #found.payload)
  if bits.compression == KafkaRecordBatchV2.Compression.none then
    for _, each in ipairs(found.records) do record(each.body) end
  end
end

local function message(found)
  say("message", found.offset, found.timestamp_value, found.timestamp_type, found.header.crc,
    known(found.header.attributes.compression), text(found.len_key >= 0 and found.key or nil),
    text(found.len_value >= 0 and found.value or nil))
end

local function entry(found)
  if found.is_padding then
    say("padding", #found.padding)
  elseif not found.is_complete then
    say("partial", #found.partial)
  else
    local magic = found.body.magic
    say("entry", found.base_offset, found.len_body, magic)
    local is_read = pcall(function()
      if magic == 2 then
        batch(found.body.content)
      elseif magic == 0 or magic == 1 then
        message(found.body.content)
      end
    end)
    if not is_read then say("error") end
  end
end

local function varint(kind, data)
  local is_read, value, len = pcall(function()
    local found = VARINTS[kind](stream(data))
    return found.value, found.len
  end)
  if is_read then say("varint", kind, value, len) else say("varint", kind, "error") end
end

for index = 3, #arg do
  say("file", index - 3)
  local file = assert(io.open(arg[index], "rb"))
  local data = file:read("a")
  file:close()
  if arg[index]:match("%.varints$") then
    local at = 1
    while at <= #data do
      local size = data:byte(at + 1)
      varint(data:byte(at), data:sub(at + 2, at + 1 + size))
      at = at + 2 + size
    end
  else
    for _, each in ipairs(KafkaLogSegment(stream(data)).entries) do entry(each) end
  end
end
