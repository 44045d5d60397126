'use strict';
// JavaScript classes of the Kaitai compiler, in its debug mode, which is the Web IDE's.
const fs = require('fs');
const path = require('path');
const vm = require('vm');

let KaitaiStream;

/** Compile all schemas of a folder; returns a function from a schema's name to its class. */
async function loadClasses(compilerFolder, schemaFolder) {
  const ksc = require(path.join(compilerFolder, 'ksc.js'));
  const compiler = ksc.loadCompiler('javascript', '', () => {});
  const texts = {};
  for (const name of fs.readdirSync(schemaFolder).filter(file => file.endsWith('.ksy'))) {
    Object.assign(texts, await ksc.compileSchema(compiler, 'javascript', path.join(schemaFolder, name), true));
  }
  KaitaiStream = require(require.resolve('kaitai-struct/KaitaiStream', {paths: [compilerFolder]}));
  const loaded = {'kaitai-struct/KaitaiStream': KaitaiStream};
  const load = name => {
    const key = name.replace(/^\.\//, '');
    if (!(key in loaded)) {
      const module = {exports: loaded[key] = {}};
      const wrapper = `(function (exports, require, module) {${texts[`${key}.js`]}\n})`;
      vm.runInThisContext(wrapper, {filename: `${key}.js`})(module.exports, load, module);
      loaded[key] = module.exports;
    }
    return loaded[key];
  };
  return schema => {
    const className = schema.split('_').map(word => word[0].toUpperCase() + word.slice(1)).join('');
    return load(className)[className];
  };
}

/** Read a file with a class; returns what was read of it, and what the parser threw. */
function read(Class, file, params = []) {
  const bytes = fs.readFileSync(file);
  const stream = new KaitaiStream(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  let root;
  try {
    root = new Class(stream, null, null, ...params);
    root._read();
    return {root};
  } catch (error) {
    return {root, error};
  }
}

module.exports = {loadClasses, read};
