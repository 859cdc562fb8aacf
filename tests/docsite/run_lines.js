/*
 * Asks the search of the site which known lines a text holds: `node run_lines.js FOLDER` with texts by name on standard
 * input, as JSON. FOLDER is the assets' folder of a built site. Prints by name the ids that it finds, best first.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2] + path.sep;
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const built = fs.readdirSync(folder);
const context = vm.createContext({});
const run = (file) => new vm.Script(fs.readFileSync(file, "utf8"), { filename: file }).runInContext(context);
context.window = context;
context.document = {
  createElement: () => ({}),
  head: {
    append(script) {
      run(script.src);
      script.onload();
    },
  },
};
for (const name of ["search-index", "text"]) run(folder + built.find((file) => file.startsWith(`${name}.`)));

async function main() {
  const text = context.distkb.text;
  const index = text.open(folder);
  const found = {};
  for (const [name, line] of Object.entries(asked)) {
    found[name] = (await text.settled(index, () => text.knownLines(index, line))).map(([id]) => id);
  }
  process.stdout.write(JSON.stringify(found));
}

main();
