/*
 * Runs the diagnosis of the site outside a browser: `node run_diagnosis.js FOLDER` with questions on standard input.
 * FOLDER holds the assets under their plain names. Prints what the scripts answer, as JSON.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2] + path.sep;
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const context = vm.createContext({ console });
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

function run(file) {
  vm.runInContext(fs.readFileSync(file, "utf8"), context, { filename: file });
}

["diagnose-patterns.js", "diagnose-said.js", "diagnose-table.js", "search-index.js", "text.js", "affinity.js", "diagnose-wording.js", "diagnose-runs.js", "wording.js", "reading.js", "belief.js", "session.js"]
  .forEach((name) => run(folder + name));
const distkb = context.distkb;


function move(one) {
  if (one.type === "ask") {
    return { type: "ask", id: one.question.id, options: one.question.options.map((o) => o.value), bits: one.gainBits };
  }
  if (one.type === "take") return { type: "take", id: one.step.id, bits: one.gainBits };
  if (one.fix) return { type: one.type, id: one.fix.id, chance: one.chance };
  return { type: one.type };
}

function viewed(view) {
  return {
    posterior: Array.from(view.belief.posterior),
    verdict: view.answer.verdict,
    entries: view.answer.entries.slice(0, 5).map((entry) => entry.id),
    causes: [].concat(...view.answer.entries.slice(0, 5).map((entry) => entry.causes.map((one) => one.cause.id))),
    moved: view.answer.entries[0].causes[0].evidence.map((one) => [one.observation.id, one.weight]),
    moves: view.moves.map(move),
    observations: view.known.evidence.observations.map((one) => one.id),
  };
}

async function main() {
  const table = distkb.likelihood(distkb.diagnoseTable);
  const session = distkb.session(table, distkb.diagnoseTable);
  const reading = distkb.reading(distkb.withSaid(distkb.diagnosePatterns, distkb.diagnoseSaid));
  const wording = distkb.wording(distkb.diagnoseWording, distkb.text.open(folder));
  const read = [];
  for (const text of asked.texts) {
    const found = distkb.finish(reading.read(text));
    const affinity = text.trim() ? await wording(found.telling, found.own) : {};
    const evidence = { observations: found.observations, affinity, logCoverage: 0 };
    const view = session.view([{ type: "evidence-added", label: "description", evidence }]);
    read.push({ observations: found.observations, telling: found.telling, affinity, view: viewed(view) });
  }
  const logs = [], printed = distkb.reading(distkb.diagnosePatterns);
  for (const text of asked.logs) {
    const { unexplained, named } = distkb.finish(printed.read(text));
    const telling = unexplained ? distkb.finish(printed.read(unexplained.text)).telling : "";
    logs.push({ unexplained, affinity: unexplained ? await wording.ofError(telling, unexplained.text) : {}, likeness: await wording.ofRun(text, named, distkb.diagnoseRuns) });
  }
  const sessions = asked.sessions.map((events) => viewed(session.view(events)));
  process.stdout.write(JSON.stringify({ read, logs, sessions }));
}

main();
