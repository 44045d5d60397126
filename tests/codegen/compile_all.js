'use strict';
// Compiles schemas with every target of the Kaitai compiler that the gallery builds.
//
// usage: node compile_all.js <compiler folder> <language>,... <schema.ksy>...
// prints one JSON object: {<file name>: {<language>: [<error or style warning>...]}}
const path = require('path');

const [compilerFolder, languages, ...schemas] = process.argv.slice(2);
const ksc = require(path.resolve(compilerFolder, 'ksc.js'));

async function main() {
  const said = {};
  let problems = [];
  const compiler = ksc.loadCompiler('javascript', '', text => problems.push(text));
  for (const schema of schemas) {
    const found = said[path.basename(schema)] = {};
    for (const language of languages.split(',')) {
      problems = [];
      try {
        await ksc.compileSchema(compiler, language, schema);
      } catch (error) {
        problems.push(String(error.message || error));
      }
      found[language] = problems;
    }
  }
  process.stdout.write(JSON.stringify(said));
}

main().catch(error => { console.error(error.stack || error); process.exitCode = 1; });
