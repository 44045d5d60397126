'use strict';
// Drives the npm package kaitai-struct-compiler: schemas in, generated text and style warnings out.
//
// usage: node ksc.js <language> <package> <schema.ksy>... [-- <schema.ksy, for imports alone>...]
//   language: one of the compiler's, where cpp_stl is cpp_stl_98 or cpp_stl_11
//   package: of the classes, in languages that have such a thing but C++; "" means the compiler's default, for Go "kafka"
// prints one JSON object: {compiler, files: {<schema path>: {<file name>: <text>}}, warnings: [{schema, message}],
//                          errors: [{schema, message, line}]}
//
// Strategy: the JavaScript build of the compiler holds all that the command line of the JVM build can do, but its
// entry point fixes the options (so no --python-package, no C++11) and drops the style warnings that it has computed. Both are
// one expression each in the published file, so they are replaced in the text while it is loaded. The expressions
// are particular to the pinned build: each must be found exactly once, or we stop.
const fs = require('fs');
const path = require('path');
const Module = require('module');
const yaml = require('js-yaml');

const RUNTIME_CONFIG = new RegExp(
  'new \\$c_Lio_kaitai_struct_RuntimeConfig\\(\\(!debug\\), debug, false, true, false, '
  + '(new \\$c_Lio_kaitai_struct_CppRuntimeConfig\\(.*?\\)\\)), "", '
  + 'new \\$c_Lio_kaitai_struct_JavaRuntimeConfig\\("", (.*?)\\), '
  + '"Kaitai", "", "", "kaitai_struct_nim_runtime", ""\\)', 'g');
const PROBLEMS = 'var problems = $as_sc_Iterable(problems$2);';
const SPECS = 'var specs = $as_Lio_kaitai_struct_format_ClassSpecs(specs$2);';

function replaceOnce(text, found, replacement, what) {
  const hits = typeof found === 'string' ? text.split(found).length - 1 : [...text.matchAll(found)].length;
  if (hits !== 1) throw new Error(`unexpected build of kaitai-struct-compiler: ${what} found ${hits} times, not once`);
  return text.replace(found, replacement);
}

// C++11: the configuration that the command line of the JVM build makes of --cpp-standard 11.
const CPP_11 = 'new $c_Lio_kaitai_struct_CppRuntimeConfig($m_sci_Nil$(), true, true, true, '
  + '$m_Lio_kaitai_struct_CppRuntimeConfig$UniqueAndRawPointers$())';

/** The expression that makes the options of a language; `cpp` and `java` are parts of the one in the file. */
function configuration(language, packageName, cpp, java) {
  const of = (one, otherwise = '') => JSON.stringify((one === language && packageName) || otherwise);
  return 'new $c_Lio_kaitai_struct_RuntimeConfig((!debug), debug, false, true, false, '
    + `${language === 'cpp_stl_11' ? CPP_11 : cpp}, ${of('go', 'kafka')}, `
    + `new $c_Lio_kaitai_struct_JavaRuntimeConfig(${of('java')}, ${java}), ${of('csharp', 'Kaitai')}, ${of('php')}, `
    + `${of('python')}, "kaitai_struct_nim_runtime", "")`;
}

/**
 * The compiler for classes of a language in a package; `onWarning` gets each style warning as text, `onSpecs` what the compiler has
 * resolved (Scala's objects) before it writes anything.
 */
function loadCompiler(language, packageName, onWarning, onSpecs = () => {}) {
  const file = require.resolve('kaitai-struct-compiler');
  let text = fs.readFileSync(file, 'utf8');
  text = replaceOnce(text, RUNTIME_CONFIG, (whole, cpp, java) =>
    configuration(language, packageName, cpp, java), 'RuntimeConfig');
  text = replaceOnce(text, PROBLEMS, () => PROBLEMS
    + ' { const found = problems.iterator__sc_Iterator();'
    + ' while (found.hasNext__Z()) { module.onWarning(String(found.next__O().message__T())); } }', 'the list of problems');
  text = replaceOnce(text, SPECS, () => `${SPECS} module.onSpecs(specs);`, 'the resolved schemas');
  const loaded = new Module(file, module);
  loaded.filename = file;
  Object.assign(loaded, {onWarning, onSpecs});
  loaded._compile(text, file);
  return loaded.exports;
}

/** YAML as the Web IDE reads it: js-yaml 4, core schema. */
function loadSchema(file) {
  return yaml.load(fs.readFileSync(file, 'utf8'), {schema: yaml.CORE_SCHEMA, filename: path.basename(file)});
}

/** Where an absolute import (`/common/x`) of a file is: below the nearest folder above it that has such a file. */
function findAbove(file, name) {
  for (let folder = path.resolve(path.dirname(file)); ; folder = path.dirname(folder)) {
    const found = path.join(folder, `${name}.ksy`);
    if (fs.existsSync(found) || folder === path.dirname(folder)) return found;
  }
}

/** Compile one schema and its imports (of `known` files, else beside it); returns {<file name>: <text>}. */
function compileSchema(compiler, language, file, debug = false, known = []) {
  const find = name => known.find(each => path.basename(each, '.ksy') === name)
    || path.join(path.dirname(file), `${name}.ksy`);
  const importer = {importYaml: async (name, mode) => loadSchema(mode === 'abs' ? findAbove(file, name) : find(name))};
  return compiler.compile(language.replace(/^cpp_stl_(98|11)$/, 'cpp_stl'), loadSchema(file), importer, debug);
}

async function main([language, packageName, ...files]) {
  const end = files.includes('--') ? files.indexOf('--') : files.length;
  const schemas = files.slice(0, end);
  let problems = [];
  const compiler = loadCompiler(language, packageName, text => problems.push(text));
  const result = {compiler: compiler.version, files: {}, warnings: [], errors: []};
  // Bad YAML first: of an import that cannot be read the compiler says nothing but the name.
  for (const work of [loadSchema, file => compileSchema(compiler, language, file, false, files)]) {
    for (const schema of result.errors.length ? [] : schemas) {
      problems = [];
      try {
        result.files[schema] = await work(schema);
        result.warnings.push(...problems.map(message => ({schema, message})));
      } catch (error) {
        const line = error.mark ? error.mark.line + 1 : null;
        result.errors.push({schema, message: String(error.message || error), line});
      }
    }
  }
  process.stdout.write(JSON.stringify(result));
}

module.exports = {loadCompiler, loadSchema, compileSchema};
if (require.main === module) {
  main(process.argv.slice(2)).catch(error => { console.error(error.stack || error); process.exitCode = 1; });
}
