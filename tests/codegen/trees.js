'use strict';
// Parses files with the JavaScript classes of the Kaitai compiler, as the Web IDE does, and prints what is in them.
//
// usage: node trees.js <compiler folder> <schema folder>
// standard input: one JSON object a line, {"schema": "kafka_log_segment", "file": "...", "params": [...]}
// standard output: for each of them one line of JSON, the tree (see trees.py, which makes the same from the Python
// classes), or {"error": "..."} if the parser threw
//
// Strategy: everything in one process. Where debug mode (classes.js) fills in attributes one by one, what stands in
// an object under a plain name was read from the stream or given as a parameter, and what its prototype has a getter
// for is an instance.
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const {createHash} = require('crypto');
const {loadClasses, read} = require('./classes.js');

const [compilerFolder, schemaFolder] = process.argv.slice(2).map(folder => path.resolve(folder));

function tree(value) {
  if (value instanceof Uint8Array) {
    return value.length <= 32 ? {hex: Buffer.from(value).toString('hex')}
      : {length: value.length, sha256: createHash('sha256').update(value).digest('hex')};
  }
  if (Array.isArray(value)) return value.map(tree);
  if (Number.isNaN(value)) return {error: 'NaN'};
  if (value === null || typeof value !== 'object') return value;
  const fields = {};
  for (const key of Object.keys(value)) {
    if (!key.startsWith('_') && value[key] !== undefined) fields[key] = tree(value[key]);
  }
  for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(value)))) {
    if (property.get === undefined) continue;
    let found;
    try {
      found = tree(value[key]);
    } catch (error) {
      found = {error: String(error.name || error)};
    }
    if (found !== undefined) fields[key] = found;
  }
  return fields;
}

function parse(classOf, {schema, file, params}) {
  const {root, error} = read(classOf(schema), file, params);
  return error ? {error: String(error.name || error), message: String(error.message)} : tree(root);
}

async function main() {
  const classOf = await loadClasses(compilerFolder, schemaFolder);
  for await (const line of readline.createInterface({input: process.stdin})) {
    const text = JSON.stringify(parse(classOf, JSON.parse(line))) + '\n';
    if (!process.stdout.write(text)) await new Promise(resolve => process.stdout.once('drain', resolve));
  }
}

main().catch(error => { console.error(error.stack || error); process.exitCode = 1; });
