'use strict';
// Uploads schemas to a stand-in for the Web IDE: compiles each as soon as it is there, with what was there before.
//
// usage: node upload.js <compiler folder> <schema.ksy>...
// prints one JSON object: {<schema>: null, or the compiler's error}
const path = require('path');

const [compilerFolder, ...schemas] = process.argv.slice(2).map(name => path.resolve(name));
const ksc = require(path.join(compilerFolder, 'ksc.js'));

async function main() {
  const compiler = ksc.loadCompiler('javascript', '', () => {});
  const uploaded = {};
  const outcome = {};
  const importYaml = async name => {
    if (!(name in uploaded)) throw new Error(`${name} is not there yet`);
    return uploaded[name];
  };
  for (const file of schemas) {
    const name = path.basename(file, '.ksy');
    uploaded[name] = ksc.loadSchema(file);
    try {
      await compiler.compile('javascript', uploaded[name], {importYaml}, true);
      outcome[name] = null;
    } catch (error) {
      outcome[name] = String(error.message || error);
    }
  }
  process.stdout.write(JSON.stringify(outcome));
}

main().catch(error => { console.error(error.stack || error); process.exitCode = 1; });
