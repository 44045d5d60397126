'use strict';
// Prints what the Kaitai compiler itself has resolved of schemas: types, expressions, sizes, parents, enums.
//
// usage: node model.js <compiler folder> <schema.ksy>...
// standard output: one JSON object, {"<schema path>": {...}}: of each schema what the compiler had resolved when it was
// about to write its class
//
// Strategy: the compiler keeps its model in Scala's objects. Those are walked by the names of their fields, which the
// JavaScript build keeps: `Lio_kaitai_struct_format_ClassSpec__f_seq` is `seq`. A class becomes {$: "its name", ...};
// types and enums that are referred to become the list of their names.
const path = require('path');

const [compilerFolder, ...schemas] = process.argv.slice(2);
const ksc = require(path.join(path.resolve(compilerFolder), 'ksc.js'));

const className = value => value.$classData ? value.$classData.name : value.constructor.name;
const fieldName = name => name.replace(/^.*__f_/, '');
// What leads back up, and what is of no interest.
const LEFT_OUT = new Set(['meta', 'upClass', 'path', 'schemaPath', 'owningClass']);

function listOf(iterator) {
  const found = [];
  while (iterator.hasNext__Z()) found.push(iterator.next__O());
  return found;
}

const isPair = value => value !== null && typeof value === 'object' && /^scala\.Tuple2/.test(className(value));

function collection(value) {
  const found = listOf(value.iterator__sc_Iterator());
  if (!/Map/.test(className(value)) || !found.every(isPair)) return found.map(tree);
  return found.map(pair => [tree(pair._1__O()), tree(pair._2__O())]);
}

/** The names of a type or enum that is referred to, if it was found. */
function reference(option) {
  if (className(option) === 'scala.None$') return null;
  const spec = option.s_Some__f_value || option;
  const key = Object.keys(spec).find(name => /__f_name$/.test(name));
  return key === undefined ? className(spec) : tree(spec[key]);
}

function tree(value) {
  if (typeof value === 'function' || value === undefined) return undefined;
  if (value === null || typeof value !== 'object') return typeof value === 'bigint' ? value.toString() : value;
  const name = className(value);
  if (name === 'scala.None$') return null;
  if (name === 'scala.Some') return tree(value.s_Some__f_value);
  if (/^scala.math.Big(Int|Decimal)/.test(name)) return {$: 'number', text: value.toString__T()};
  if (/^java\.lang\.(Long|Integer)|RuntimeLong/.test(name)) return Number(value.toString());
  if (isPair(value)) return [tree(value._1__O()), tree(value._2__O())];
  if (typeof value.iterator__sc_Iterator === 'function') return collection(value);
  const found = {$: name.replace(/^io\.kaitai\.struct\./, '').replace(/\$$/, '')};
  for (const key of Object.keys(value)) {
    const field = fieldName(key);
    if (LEFT_OUT.has(field) || /bitmap|hash/i.test(field)) continue;
    found[field] = ['classSpec', 'enumSpec', 'parentClass'].includes(field) ? reference(value[key]) : tree(value[key]);
  }
  return found;
}

async function main() {
  const result = {};
  let schema;
  const compiler = ksc.loadCompiler('javascript', '', () => {}, specs => {
    // Those of its imports come along.
    const own = listOf(specs.iterator__sc_Iterator()).find(pair => pair._1__O() === path.basename(schema, '.ksy'));
    result[schema] = tree(own._2__O());
  });
  for (schema of schemas) await ksc.compileSchema(compiler, 'python', schema, false, schemas);
  process.stdout.write(JSON.stringify(result));
}

main().catch(error => { console.error(error.stack || error); process.exitCode = 1; });
