# Prints segments and varints as ../reference.py describes. usage: read FILE...
import os, strutils
import kaitai_struct_nim_runtime
import kafka_log_segment, kafka_record_batch_v2, kafka_message_legacy, kafka_record, kafka_record_header
import kafka_control_record_key, kafka_control_record_value
import kafka_varint, kafka_varlong, kafka_unsigned_varint

proc say(words: varargs[string, `$`]) =
  stdout.writeLine(words.join(" "))

proc hex(data: seq[byte]): string =
  for one in data:
    result.add(toHex(one).toLowerAscii())

proc text(data: seq[byte], isThere: bool): string =
  if not isThere: "-" elif data.len == 0: "." else: hex(data)

proc control(body: KafkaRecord_RecordBody): string =
  let key = body.controlKey
  var detail = "-"
  if body.lenValue.value >= 0:
    let content = body.controlValue.content
    if content of KafkaControlRecordValue_LeaderChangeMessage:
      detail = $KafkaControlRecordValue_LeaderChangeMessage(content).leaderId
    elif content of KafkaControlRecordValue_EndTxnMarker:
      detail = $KafkaControlRecordValue_EndTxnMarker(content).coordinatorEpoch
  "control " & $key.version & " " & $ord(key.recordType) & " " & detail

proc record(body: KafkaRecord_RecordBody) =
  var line = @["record", $body.offset, $body.timestamp, $body.sequence,
    text(body.key, body.lenKey.value >= 0), text(body.value, body.lenValue.value >= 0)]
  for header in body.headers:
    line.add(hex(header.key) & "=" & text(header.value, header.lenValue.value >= 0))
  say(line)
  if body.isControlRecord:
    try:
      say(control(body))
    except CatchableError, Defect:
      say("control error")

proc batch(found: KafkaRecordBatchV2) =
  let bits = found.attributes
  say("batch", found.partitionLeaderEpoch, found.crc, ord(bits.compression), ord(bits.timestampType),
    ord(bits.isTransactional), ord(bits.isControl), ord(bits.hasDeleteHorizon), found.lastOffsetDelta,
    found.baseTimestamp, found.maxTimestamp, found.producerId, found.producerEpoch, found.baseSequence,
    found.numRecords, found.payload.len)
  if bits.compression == KafkaRecordBatchV2_Compression.none:
    for each in found.records:
      record(each.body)

proc message(found: KafkaMessageLegacy) =
  say("message", found.offset, found.timestampValue, found.timestampType, found.header.crc,
    ord(found.header.attributes.compression), text(found.key, found.lenKey >= 0),
    text(found.value, found.lenValue >= 0))

proc entry(found: KafkaLogSegment_Entry) =
  if found.isPadding:
    say("padding", found.padding.len)
  elif not found.isComplete:
    say("partial", found.partial.len)
  else:
    let magic = found.body.magic
    say("entry", found.baseOffset, found.lenBody, magic)
    try:
      if magic == 2:
        batch(KafkaRecordBatchV2(found.body.content))
      elif magic == 0 or magic == 1:
        message(KafkaMessageLegacy(found.body.content))
    except CatchableError, Defect:
      say("error")

proc varint(kind: int, data: seq[byte]) =
  let io = newKaitaiStream(data)
  try:
    case kind
    of 0:
      let found = KafkaVarint.read(io, nil, nil)
      say("varint", kind, found.value, found.len)
    of 1:
      let found = KafkaVarlong.read(io, nil, nil)
      say("varint", kind, found.value, found.len)
    else:
      let found = KafkaUnsignedVarint.read(io, nil, nil)
      say("varint", kind, found.value, found.len)
  except CatchableError, Defect:
    say("varint", kind, "error")

for index in 1 .. paramCount():
  say("file", index - 1)
  let data = cast[seq[byte]](readFile(paramStr(index)))
  if paramStr(index).endsWith(".varints"):
    var at = 0
    while at < data.len:
      let size = int(data[at + 1])
      varint(int(data[at]), data[at + 2 ..< at + 2 + size])
      at += 2 + size
  else:
    for each in KafkaLogSegment.read(newKaitaiStream(data), nil, nil).entries:
      entry(each)
