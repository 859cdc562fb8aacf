/*
 * Runs the search of the site outside a browser: `node run_search.js FOLDER` with questions on standard input, as JSON:
 * `texts` and `queries` (language and words). FOLDER is the assets' folder of a built site. Prints what the
 * scripts answer, and which files each query loaded beyond the first one.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2] + path.sep;
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const built = fs.readdirSync(folder);
const compiled = new Map();

/* Load the scripts into a page of their own, which remembers what it loads. */
function open() {
  const context = vm.createContext({});
  const loaded = [];
  const run = (file) => {
    if (!compiled.has(file)) compiled.set(file, new vm.Script(fs.readFileSync(file, "utf8"), { filename: file }));
    compiled.get(file).runInContext(context);
    loaded.push(path.basename(file));
  };
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
  const text = context.distkb.text;
  return { text, index: text.open(folder), loaded };
}

async function main() {
  const { text, index } = open();
  const tokens = asked.texts.map((one) => {
    const found = text.pieces(one);
    return {
      tokens: found.flatMap((piece) => piece.tokens),
      atoms: found.map((piece) => piece.atoms),
      joined: found.map((piece) => piece.joined),
    };
  });
  const hits = [];
  for (const [lang, words] of asked.queries) {
    hits.push({
      words: [...(await text.settled(index, () => text.queryWords(index, words)))],
      hits: await text.settled(index, () => text.search(index, words, 10, lang)),
    });
  }
  const loads = [];
  for (const [lang, words] of asked.loads) {
    const fresh = open();
    await fresh.text.settled(fresh.index, () => fresh.text.search(fresh.index, words, 10, lang));
    loads.push(fresh.loaded.filter((file) => file.startsWith("search-")));
  }
  process.stdout.write(JSON.stringify({ tokens, hits, loads }));
}

main();
