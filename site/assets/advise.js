/*
 * The advisor's page: answers the form as it is filled in, and keeps it in the address, so that a link asks the same.
 * What is computed and said is in sizing.js.
 */
(() => {
  "use strict";
  const { sizing, sizingData } = distkb, say = sizing.speaker(document.documentElement.lang);
  const form = document.getElementById("advise"), config = document.getElementById("f-config");
  const strategy = document.getElementById("f-strategy"), problem = document.getElementById("problem");
  const FIELDS = Object.keys(sizingData.form);
  let waiting = 0;

  const field = (name) => document.getElementById(`f-${name}`);

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
  }

  function fill(id, children) {
    document.getElementById(id).replaceChildren(...children);
  }

  /* The pasted configuration; null where there is none. Throws a SyntaxError where it is no JSON object. */
  function pasted() {
    if (!config.value.trim()) return null;
    const document = JSON.parse(config.value);
    if (!document || typeof document !== "object" || Array.isArray(document)) throw new SyntaxError("object");
    return document;
  }

  function typed() {
    return Object.fromEntries(FIELDS.map((name) => [name, field(name).value]));
  }

  /* Say below a field what is wrong with it, or what it is for. */
  function explain(name, wrong) {
    const about = document.getElementById(`a-${name}`), words = wrong || about.dataset.about;
    if (about.textContent !== words) about.textContent = words;
    about.classList.toggle("wrong", Boolean(wrong));
    if (wrong) field(name).setAttribute("aria-invalid", "true");
    else field(name).removeAttribute("aria-invalid");
  }

  /* Return the advice, or null where something cannot be read, which is said at the field and in one line. */
  function advised(values) {
    FIELDS.forEach((name) => explain(name, ""));
    config.removeAttribute("aria-invalid");
    problem.textContent = "";
    try {
      const { shape, run } = sizing.read(values, pasted());
      return sizing.advise(shape, run);
    } catch (error) {
      const syntax = error instanceof SyntaxError;
      if (!syntax && !(error instanceof sizing.Problem)) throw error;
      const ours = config.value.trim() && (syntax || error.field === "model");
      if (ours) config.setAttribute("aria-invalid", "true");
      const words = syntax ? form.dataset.broken : say(error.sentence, error.values);
      if (!ours) explain(error.field, words);
      problem.textContent = `✗ ${ours ? "config.json" : say(`field.${error.field}`)}: ${words}`;
      return null;
    }
  }

  function answer() {
    const values = typed(), advice = advised(values);
    document.getElementById("answer").classList.toggle("stale", !advice);
    if (advice) {
      show(advice, values);
      remember(values);
    }
  }

  function show(advice, values) {
    const verdict = document.getElementById("verdict"), words = sizing.verdict(advice, say);
    if (verdict.textContent !== words) verdict.textContent = words;
    fill("assumed", sizing.assumed(advice, say).map((line) => element("p", line)));
    const body = document.querySelector("#rows tbody");
    body.replaceChildren(...sizing.shown(advice).map((row) => line(row, advice, body.dataset)));
    offer(advice);
    const name = strategy.value, started = name ? sizing.choose(advice, name) : advice;
    fill("noted", sizing.notes(started, say).map((note) => element("li", note)));
    launch(started, values);
  }

  function line(row, advice, words) {
    const fit = sizing.fit(row, advice.run), here = advice.chosen === row, out = element("tr", "");
    const name = sizingData.names[row.name];
    out.append(element("th", here ? `▸ ${name}` : name, { scope: "row" }));
    const word = `${fit === "no" ? "✗" : "✓"} ${words[fit]}${here ? ` · ${form.dataset.here}` : ""}`;
    out.append(element("td", word, { class: fit }));
    sizing.figures(row, advice.run).forEach((figure) => out.append(element("td", figure)));
    if (here) out.className = "here";
    return out;
  }

  /* Offer the strategies that the run has; one that was chosen by hand stays. */
  function offer(advice) {
    const before = strategy.value || strategy.dataset.wanted || "", rows = sizing.shown(advice);
    const first = advice.chosen ? "" : rows[rows.length - 1].name;
    const known = rows.some((row) => row.name === before);
    strategy.replaceChildren(...rows.map((row) => {
      const own = advice.chosen === row, value = own ? "" : row.name;
      return element("option", sizingData.names[row.name] + (own ? ` · ${form.dataset.here}` : ""), { value });
    }));
    strategy.value = known && !(advice.chosen && advice.chosen.name === before) ? before : first;
    delete strategy.dataset.wanted;
  }

  function launch(advice, values) {
    const pieces = { torchrun: `${sizing.command(advice)}\n`, ...sizing.files(advice) };
    pieces.distkb = `${sizing.commandLine(values)}\n`;
    document.querySelectorAll("[data-piece]").forEach((code) => { code.textContent = pieces[code.dataset.piece]; });
    document.getElementById("first-node").hidden = advice.run.nodes === 1;
  }

  /* Keep what differs from the beginning in the address, so that it can be shared; a pasted configuration stays here. */
  function remember(values) {
    const query = new URLSearchParams();
    FIELDS.forEach((name) => { if (values[name] !== sizingData.form[name]) query.set(name, values[name]); });
    if (strategy.value) query.set("strategy", strategy.value);
    const search = query.toString();
    try {
      history.replaceState(null, "", (search ? `?${search}` : location.pathname) + location.hash);
    } catch (error) { /* an address that cannot be changed */ }
  }

  function recall() {
    const query = new URLSearchParams(location.search);
    FIELDS.forEach((name) => {
      const value = query.get(name), at = field(name);
      if (value === null) return;
      if (at.tagName !== "SELECT" || sizingData.choices[name].includes(value)) at.value = value.slice(0, 100);
    });
    strategy.dataset.wanted = query.get("strategy") || "";
  }

  function soon() {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(answer);
  }

  form.addEventListener("input", soon);
  strategy.addEventListener("input", soon);
  form.addEventListener("submit", (event) => event.preventDefault());
  recall();
  answer();
})();
