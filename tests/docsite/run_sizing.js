/*
 * Runs the advisor of the site outside a browser: `node run_sizing.js FOLDER` with questions on standard input.
 * FOLDER holds the assets under their plain names. Prints what the scripts answer, as JSON.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const context = vm.createContext({});
context.window = context;
for (const name of ["sizing-data.js", "sizing.js"]) {
  const file = path.join(process.argv[2], name);
  vm.runInContext(fs.readFileSync(file, "utf8"), context, { filename: file });
}
const sizing = context.distkb.sizing;

function answer({ form, config, lang, strategy }) {
  const say = sizing.speaker(lang);
  let asked = null;
  try {
    asked = sizing.read(form, config);
  } catch (problem) {
    if (!(problem instanceof sizing.Problem)) throw problem;
    return { field: problem.field, problem: say(problem.sentence, problem.values) };
  }
  const found = sizing.advise(asked.shape, asked.run);
  const advice = strategy && found.rows.some((row) => row.name === strategy) ? sizing.choose(found, strategy) : found;
  return {
    parameters: sizing.parameters(asked.shape),
    start: found.chosen && found.chosen.name,
    enough: advice.enough,
    checkpointing: advice.checkpointing,
    rows: advice.rows.map((row) => [
      row.name, row.params, row.grads, row.optimizer, row.gathered, row.activations.plain, row.activations.checkpointed,
      sizing.peak(row, false), sizing.peak(row, true), row.host, row.sent, row.leaves,
    ]),
    figures: advice.rows.map((row) => [...sizing.figures(row, asked.run), sizing.fit(row, asked.run)]),
    texts: [sizing.verdict(advice, say), ...sizing.assumed(advice, say), ...sizing.notes(advice, say)],
    command: sizing.command(advice),
    line: sizing.commandLine(form),
    files: sizing.files(advice),
  };
}

process.stdout.write(JSON.stringify(JSON.parse(fs.readFileSync(0, "utf8")).map(answer)));
