'use strict';
// Prints the Python classes of schemas in the Kaitai compiler's debug mode, in which they note where each field is.
//
// usage: node debug_classes.js <compiler folder> <schema.ksy>...
// prints one JSON object: {<file name>: <text>}
const path = require('path');

const [compilerFolder, ...schemas] = process.argv.slice(2);
const ksc = require(path.resolve(compilerFolder, 'ksc.js'));

async function main() {
  const compiler = ksc.loadCompiler('python', '.', () => {});
  const files = {};
  for (const schema of schemas) Object.assign(files, await ksc.compileSchema(compiler, 'python', schema, true));
  process.stdout.write(JSON.stringify(files));
}

main().catch(error => { console.error(error.stack || error); process.exitCode = 1; });
