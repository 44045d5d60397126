'use strict';
// Prints segments and varints as ../reference.py describes. usage: node read.js <classes> <runtime> FILE...
const fs = require('fs');
const path = require('path');
const Module = require('module');

const [classes, runtime, ...files] = process.argv.slice(2);
process.env.NODE_PATH = runtime;
Module._initPaths();
const KaitaiStream = require('kaitai-struct/KaitaiStream');
// The runtime's own is wrong by 2^32 for most negative numbers (docs/languages.md).
KaitaiStream.prototype.readS8be = function () {
  return this.readS4be() * 0x100000000 + this.readU4be();
};
const load = name => require(path.resolve(classes, `${name}.js`))[name];
const KafkaLogSegment = load('KafkaLogSegment');
const KafkaRecordBatchV2 = load('KafkaRecordBatchV2');
const KafkaMessageLegacy = load('KafkaMessageLegacy');
const KafkaControlRecordKey = load('KafkaControlRecordKey');
const VARINTS = ['KafkaVarint', 'KafkaVarlong', 'KafkaUnsignedVarint'].map(load);
const out = [];

/** An integer; `parts` is what it was computed from. JavaScript rounds what exceeds 2^53. */
const number = (value, ...parts) => [value, ...parts].every(Number.isSafeInteger) ? String(value) : 'inexact';
const text = data => data === undefined ? '-' : Buffer.from(data).toString('hex') || '.';
const known = (names, value) => names[value] === undefined ? '?' : String(value);
const stream = data => new KaitaiStream(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));

function control(body) {
  try {
    const key = body.controlKey;
    const kind = known(KafkaControlRecordKey.ControlRecordType, key.recordType);
    let detail = '-';
    if (['0', '1', '2'].includes(kind) && body.lenValue.value >= 0) {
      const content = body.controlValue.content;
      detail = kind === '2' ? content.leaderId : content.coordinatorEpoch;
    }
    return `control ${key.version} ${kind} ${detail}`;
  } catch (error) {
    return 'control error';
  }
}

function record(batch, body) {
  const deltas = batch.attributes.timestampType === 1 ? [] : [batch.baseTimestamp, body.timestampDelta.value];
  const headers = body.headers.map(header =>
    ` ${Buffer.from(header.key).toString('hex')}=${text(header.lenValue.value >= 0 ? header.value : undefined)}`);
  out.push(`record ${number(body.offset, batch.baseOffset)} ${number(body.timestamp, ...deltas)} `
    + `${body.sequence | 0} ${text(body.lenKey.value >= 0 ? body.key : undefined)} `
    + `${text(body.lenValue.value >= 0 ? body.value : undefined)}${headers.join('')}`);
  if (body.isControlRecord) out.push(control(body));
}

function batch(found) {
  const bits = found.attributes;
  out.push(['batch', found.partitionLeaderEpoch, found.crc, known(KafkaRecordBatchV2.Compression, bits.compression),
    bits.timestampType, Number(bits.isTransactional), Number(bits.isControl), Number(bits.hasDeleteHorizon),
    found.lastOffsetDelta, number(found.baseTimestamp), number(found.maxTimestamp), number(found.producerId),
    found.producerEpoch, found.baseSequence, found.numRecords, found.payload.length].join(' '));
  if (bits.compression === KafkaRecordBatchV2.Compression.NONE) {
    for (const each of found.records) record(found, each.body);
  }
}

function message(found) {
  out.push(`message ${number(found.offset)} ${number(found.timestampValue)} ${found.timestampType} ${found.header.crc} `
    + `${known(KafkaMessageLegacy.Compression, found.header.attributes.compression)} `
    + `${text(found.lenKey >= 0 ? found.key : undefined)} ${text(found.lenValue >= 0 ? found.value : undefined)}`);
}

function segment(data) {
  for (const entry of new KafkaLogSegment(stream(data)).entries) {
    if (entry.isPadding) out.push(`padding ${entry.padding.length}`);
    else if (!entry.isComplete) out.push(`partial ${entry.partial.length}`);
    else {
      const magic = entry.body.magic;
      out.push(`entry ${number(entry.baseOffset)} ${entry.lenBody} ${magic}`);
      try {
        const content = entry.body.content;
        if (magic === 2) batch(content);
        else if (magic === 0 || magic === 1) message(content);
      } catch (error) {
        out.push('error');
      }
    }
  }
}

function varints(data) {
  for (let at = 0; at < data.length; at += 2 + data[at + 1]) {
    const kind = data[at];
    try {
      const found = new VARINTS[kind](stream(data.subarray(at + 2, at + 2 + data[at + 1])));
      out.push(`varint ${kind} ${number(found.value)} ${found.len}`);
    } catch (error) {
      out.push(`varint ${kind} error`);
    }
  }
}

files.forEach((file, index) => {
  out.push(`file ${index}`);
  (file.endsWith('.varints') ? varints : segment)(fs.readFileSync(file));
});
process.stdout.write(`${out.join('\n')}\n`);
