'use strict';
// Prints the lines that the Kaitai Web IDE has for nodes of files, by the compiler and the runtime that it has.
//
// usage: node lines.js <compiler folder> <schema folder> <jobs>
//   jobs: JSON, [{schema, file, paths: [[<name or number>, ...], ...]}, ...]
// prints JSON: for each job a list, for each path {line, names, bytes, failed}: the line (null if there is no such
//   node), the names of the nodes below, first and last byte, and whether reading it threw
//
// Strategy: an object's line is its `-webide-representation`, whose names are looked up in the object. As in the IDE,
// an instance that is read from the file has no text there unless it is read at once (`-webide-parse-mode: eager`).
const fs = require('fs');
const path = require('path');
const {loadClasses, read} = require('../codegen/classes.js');

const [compilerFolder, schemaFolder, jobs] = process.argv.slice(2);
const {loadSchema} = require(path.resolve(compilerFolder, 'ksc.js'));
const specs = new Map();

const camel = name => name.replace(/(?<=[^_])_(\w)/g, (_, letter) => letter.toUpperCase());
const pascal = name => camel(name).replace(/^\w/, letter => letter.toUpperCase());
const dashed = (spec, key) => spec[`-webide-${key}`];

/** Note what a schema says of a class and of those inside it. */
function note(Class, spec) {
  specs.set(Class, spec);
  for (const [name, inner] of Object.entries(spec.types || {})) note(Class[pascal(name)], inner);
}

/** A number as a representation's `dec` or `hex`, or as neither. */
function number(value, format) {
  const hex = `0x${value.toString(16).toUpperCase()}`;
  return format === 'dec' ? String(value) : format === 'hex' ? hex : `${hex} = ${value}`;
}

/** The text of a value that is the attribute `name` of an object. */
function text(value, owner, name, format) {
  if (value === undefined || value === null) return '';
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return value.map(each => text(each, owner, name, format)).join(', ');
  if (typeof value === 'object') return words(value);
  const {enumName} = (owner._debug || {})[name] || {};
  if (enumName) {
    const [schema, ...inner] = enumName.split('.');
    return inner.reduce((found, part) => found[part], classOf(schema))[value];
  }
  return typeof value === 'number' ? number(value, format) : String(value);
}

/** What an object's representation shows of it. */
function words(object) {
  const template = dashed(specs.get(object.constructor), 'representation') || '';
  return template.replace(/{(.+?)(?::(\w+))?}/g, (_, dotted, format) => {
    const names = dotted.split('.');
    const owner = names.slice(0, -1).reduce(shown, object);
    return text(shown(owner, names.at(-1)), owner, camel(names.at(-1)), format);
  });
}

/** An attribute, if the IDE has it without a further click. */
function shown(object, name) {
  if (!object) return undefined;
  const instance = (specs.get(object.constructor).instances || {})[name];
  const isThere = !instance || 'value' in instance || dashed(instance, 'parse-mode') === 'eager';
  return isThere ? object[camel(name)] : undefined;
}

function line(value, owner, name) {
  if (value === undefined || value === null) return `${name} = <no value>`;
  if (typeof value !== 'object') return `${name} = ${text(value, owner, name)}`;
  if (Array.isArray(value)) return name;
  const said = words(value);
  return `${name} [${value.constructor.name}]${said && ': '}${said}`;
}

/** The names of the nodes below an object. */
function names(object) {
  if (object === null || typeof object !== 'object' || Array.isArray(object)) return [];
  const read = Object.keys(object).filter(key => !key.startsWith('_') && object[key] !== undefined);
  const properties = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)));
  return [...read, ...properties.filter(([, {get}]) => get).map(([key]) => key)];
}

function node(root, where) {
  let owner, value = root, failed = false, bytes = null;
  for (const name of where) {
    owner = value;
    if (!(name in owner)) return {line: null};
    const debug = (owner._debug || {})[name];
    try {
      value = owner[name];
    } catch {
      failed = true;
      value = owner[`_m_${name}`];
    }
    bytes = debug && 'end' in debug ? [debug.ioOffset + debug.start, debug.ioOffset + debug.end - 1] : null;
  }
  // A browser makes one space of several.
  const shownLine = line(value, owner, String(where.at(-1))).replace(/\s+/g, ' ').trim();
  return {line: shownLine, names: names(value), bytes, failed};
}

let classOf;

async function main() {
  classOf = await loadClasses(path.resolve(compilerFolder), path.resolve(schemaFolder));
  for (const file of fs.readdirSync(schemaFolder).filter(each => each.endsWith('.ksy'))) {
    note(classOf(path.basename(file, '.ksy')), loadSchema(path.join(schemaFolder, file)));
  }
  const found = JSON.parse(jobs).map(({schema, file, paths}) => {
    const {root, error} = read(classOf(schema), file);
    if (error) throw error;
    return paths.map(where => node(root, where));
  });
  process.stdout.write(JSON.stringify(found));
}

main().catch(error => { console.error(error.stack || error); process.exitCode = 1; });
