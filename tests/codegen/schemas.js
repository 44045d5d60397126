'use strict';
// Prints all schemas as one JSON object, {"kafka_record": {...}}, keys in the order in which they are written.
//
// usage: node schemas.js <compiler folder> <schema folder>
const fs = require('fs');
const path = require('path');

const [compilerFolder, schemaFolder] = process.argv.slice(2).map(folder => path.resolve(folder));
const ksc = require(path.join(compilerFolder, 'ksc.js'));
const schemas = {};
for (const name of fs.readdirSync(schemaFolder).filter(file => file.endsWith('.ksy')).sort()) {
  schemas[path.basename(name, '.ksy')] = ksc.loadSchema(path.join(schemaFolder, name));
}
process.stdout.write(JSON.stringify(schemas));
