/* The page that diagnoses: it loads the data when it is first needed, reads, asks, and shows what follows.
   All state is the list of events; every change draws the page anew. Text from data goes in as text only. */
(() => {
  "use strict";
  const distkb = window.distkb = window.distkb || {};
  const root = document.getElementById("diagnose");
  if (!root) return;
  const box = root.querySelector("#d-text"), state = root.querySelector("#d-state");
  const LARGE = 60000, SILENT = 1, SHOWN = 5, KEPT = "distkb-session", PASTED = "distkb-paste", LINK = "#s=";
  const KINDS = ["answered", "dont-know", "evidence-added", "probe-result", "step-declined", "fix-tried", "withdrawn", "Undone", "Redone"];
  let engine = null, ready = null, reading = null, events = [], held = "", took = 0, asked = 0, reads = 0, shown = null, view = null;

  /* ---- elements and words ---- */

  function element(tag, values, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(values || {})) {
      if (name === "on") made.addEventListener("click", value);
      else if (name in made && name !== "list") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
  }

  function say(key, values) {
    return engine.words.say[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  function percent(p) {
    return p < 0.01 ? say("little") : say("percent", { n: Math.round(100 * p) });
  }

  /* A text of the catalogue: what is between backticks as code, ids of entries as links. */
  function inline(text) {
    const out = document.createElement("span");
    text.split(/`([^`\n]+)`/).forEach((part, number) => {
      if (number % 2) {
        out.append(element("code", { translate: false }, part));
        return;
      }
      part.split(/((?<![\w.#/-])(?:D|MN|M|U)\d{1,3}(?:\.[a-z])?(?![\w-]))/).forEach((word, at) => {
        const known = at % 2 && engine.titles.has(word.split(".")[0]);
        out.append(known ? link(word) : word);
      });
    });
    return out;
  }

  /* A link to an entry, a cause or a fix: it opens beside the page, since leaving would forget the session. */
  function link(id, text) {
    const entry = id.split(".")[0], anchor = entry === id ? "" : `#${id}`;
    return element("a", {
      href: `${root.dataset.home}e/${entry}.html${anchor}`, target: "_blank", rel: "noopener",
      title: say("new-page")
    }, text || id);
  }

  function button(text, on, main) {
    return element("button", { type: "button", className: main ? "main" : "", on }, text);
  }

  /* ---- loading ---- */

  function load(address) {
    return new Promise((done, failed) => {
      const script = element("script", { src: address, onload: done, onerror: failed });
      script.async = false;
      document.head.append(script);
    });
  }

  /* Load and unpack what any text takes, once. */
  function prepare() {
    ready = ready || load(root.dataset.core).then(() => {
      const data = distkb.diagnoseTable, words = distkb.diagnoseWords, table = distkb.likelihood(data);
      engine = {
        data, words, table, session: distkb.session(table, data),
        titles: new Map(data.entries.map((id, n) => [id, words.entries[n]])),
        places: new Map(data.observations.map((one, n) => [one[0], n])),
        facts: new Map(data.facts.map((fact, n) => [fact[0], words.facts[n]]))
      };
      root.dataset.ready = "";
    });
    reader();
    ready.catch(() => {
      ready = null;
      state.textContent = root.dataset.failed || "";
    });
    return ready;
  }

  /* What reads a text: a worker, which leaves the page free, else a script of the page. Return a promise of it. */
  function reader() {
    reading = reading || new Promise((done, failed) => {
      const whole = address => new URL(address, location.href).href;
      const spoken = root.dataset.spoken.split(" ").map(whole), runs = whole(root.dataset.runs);
      const here = () => load(root.dataset.reader).then(() => done(distkb.reader(spoken, runs)), failed);
      try {
        const worker = new Worker(root.dataset.reader), waiting = new Map();
        let number = 0;
        worker.onmessage = ({ data }) => {
          const [answer, refuse] = waiting.get(data.number);
          waiting.clear();
          if (data.error) refuse(new Error(data.error));
          else answer(data.evidence);
        };
        worker.onerror = () => { reading = null; here(); waiting.forEach(([, refuse]) => refuse(new Error("worker"))); };
        done((text, asReport) => new Promise((answer, refuse) => {
          waiting.set(++number, [answer, refuse]);
          worker.postMessage({ number, text, asReport, spoken, runs });
        }));
      } catch (error) {
        here();
      }
    });
    reading.catch(() => { reading = null; });
    return reading;
  }

  const evidenceOf = (text, asReport) => reader().then(read => read(text, asReport));

  async function read(text, label, step) {
    const begun = performance.now(), mine = ++reads;
    if (!engine) state.textContent = root.dataset.loading;
    await prepare();
    state.textContent = say("reading");
    const evidence = await evidenceOf(text);
    if (mine !== reads) return;
    const event = { type: "evidence-added", label, evidence };
    if (step) event.step = step;
    act(event);
    took = Math.round(performance.now() - begun);
    root.dataset.took = String(took);
    state.textContent += ` ${say("took", { ms: took })}`;
  }

  function report() {
    return [box.value, held].filter(text => text.trim()).join("\n");
  }

  function diagnose() {
    return read(report(), "description");
  }

  /* ---- events ---- */

  function act(event, quietly) {
    events = events.concat([event]);
    shown = null;
    draw();
    keep();
    if (!quietly) announce();
  }

  function announce() {
    const first = view.answer.entries[0], title = root.querySelector("#d-move-title");
    state.textContent = say("said", { id: first.id, percent: percent(first.probability) });
    title.focus({ preventScroll: false });
  }

  function numberOf(test) {
    const found = engine.session.standing(events).filter(n => test(events[n]));
    return found.length ? found[found.length - 1] : -1;
  }

  /* Forget a fact: an answer becomes unknown; what was read from a text is taken out of what the text showed. */
  function forget(id) {
    const question = distkb.parted(id)[0];
    if (numberOf(e => e.type === "answered" && e.question === question) >= 0) {
      act({ type: "dont-know", question, offered: [] });
      return;
    }
    const told = numberOf(e => e.type === "evidence-added" && e.evidence.observations.some(o => o.id === id));
    if (told < 0) return;
    const evidence = Object.assign({}, events[told].evidence);
    evidence.observations = evidence.observations.filter(o => o.id !== id);
    act(Object.assign({}, events[told], { evidence }));
  }

  /* ---- drawing ---- */

  function draw() {
    view = engine.session.view(events);
    root.querySelector("#d-result").hidden = false;
    drawMove(shown || view.moves[0]);
    drawCauses();
    drawLanes();
    drawKnown();
    drawCourse();
    root.querySelector("#d-undo").disabled = !view.canUndo;
    root.querySelector("#d-redo").disabled = !view.canRedo;
  }

  function place(id) { return engine.places.get(id); }

  /* What an observation says, in words. */
  function meaning(id, short) {
    const [name, value] = distkb.parted(id), fact = engine.table.facts.get(name);
    if (fact && value) {
      return engine.facts.get(name)[short ? 2 : 3][fact.values.findIndex(v => v.value === value)];
    }
    if (id.startsWith("fix.")) return engine.words.fixes[engine.table.fixes.get(id.slice(4)).number];
    return engine.words.means[place(id)] || id;
  }

  function strength(weight) {
    const size = Math.abs(weight);
    return say(size >= 2 ? "strong" : size >= 0.7 ? "some" : "weak");
  }

  function evidenceItem(one) {
    const o = one.observation, speaks = one.weight > 0;
    const item = element("li", { className: speaks ? "for" : "against" },
      element("strong", {}, `${speaks ? "＋" : "－"} ${say(speaks ? "for" : "against")}, ${strength(one.weight)}`),
      ": ",
      o.present ? inline(meaning(o.id)) : inline(say("missing", { means: meaning(o.id) })));
    const quote = o.quotes.find(q => q.text && q.text !== o.id);
    if (quote) {
      item.append(element("q", { translate: false, lang: "en" }, quote.text));
      if (quote.line) item.append(element("small", {}, ` ${say("line", { n: quote.line })}`));
    }
    return item;
  }

  function drawCauses() {
    const list = root.querySelector("#d-causes"), entries = view.answer.entries.slice(0, SHOWN);
    const open = new Set(Array.from(list.querySelectorAll("details[open]"), one => one.dataset.id));
    root.querySelector("#d-verdict").textContent = say(view.answer.verdict, { id: view.answer.entries[0].id });
    list.replaceChildren(...entries.map((entry, rank) => causeItem(entry, open.has(entry.id) || rank === 0)));
    list.append(element("li", { className: "none" }, element("p", { className: "head" },
      element("span", {}, say("other")), bar(view.answer.other))));
  }

  function bar(p) {
    const meter = element("span", { className: "meter" });
    const fill = element("span", {});
    fill.style.width = `${Math.max(1, 100 * p)}%`;
    meter.setAttribute("aria-hidden", "true");
    meter.append(fill);
    return element("span", { className: "chance" }, meter, element("b", {}, percent(p)));
  }

  function causeItem(entry, open) {
    const details = element("details", { open }, element("summary", {}, say("why-cause")));
    details.dataset.id = entry.id;
    entry.causes.forEach(ranked => {
      if (ranked.probability < 0.005 && ranked !== entry.causes[0]) return;
      details.append(element("p", { className: "cause-line" },
        link(ranked.cause.id), " ", inline(engine.words.causes[ranked.cause.number]), " ",
        element("b", {}, percent(ranked.probability))));
    });
    const evidence = entry.causes[0].evidence.slice(0, 8);
    details.append(evidence.length ? element("ul", { className: "evidence" }, ...evidence.map(evidenceItem))
      : element("p", { className: "faint" }, say("words-only")));
    return element("li", {}, element("p", { className: "head" },
      element("span", {}, link(entry.id), " ", inline(engine.titles.get(entry.id))), bar(entry.probability)), details);
  }

  /* The ranks' time line of the text that was read last: a lane for each, with what failed and what only repeats it. */
  function drawLanes() {
    const read = view.events.filter(event => event.type === "evidence-added" && event.evidence.lanes).pop();
    const section = root.querySelector("#d-lanes"), lanes = read && read.evidence.lanes;
    section.hidden = !lanes;
    if (!lanes) return;
    const low = Math.min(...lanes.ranks.map(lane => lane.from)), high = Math.max(...lanes.ranks.map(lane => lane.to));
    const left = 72, width = Math.max(300, Math.min(640, section.parentElement.clientWidth)), row = 28, bottom = row * lanes.ranks.length;
    const at = value => left + (width - left - 16) * (high > low ? (value - low) / (high - low) : 1);
    const words = value => lanes.timed ? new Date(value * 1000).toISOString().slice(11, high - low < 10 ? 23 : 19) : say("line", { n: value });
    const told = lanes.ranks.map(lane => say("lanes.rank", {
      rank: lane.rank, n: lane.count, from: words(lane.from), to: words(lane.to)
    }));
    const picture = drawn("svg", {
      class: "drawing lanes", viewBox: `0 0 ${width} ${bottom + 24}`, role: "img", "aria-label": told.join(" ")
    });
    lanes.ranks.forEach((lane, place) => {
      const y = row * (place + .5);
      picture.append(drawn("text", { x: 0, y: y + 4, class: "head" }, say("lanes.who", { rank: lane.rank })),
        drawn("path", { d: `M${at(lane.from)} ${y}H${at(lane.to)}`, class: "lane" }),
        drawn("path", { d: `M${at(lane.to)} ${y - 6}v12`, class: "lane" }));
      lane.marks.forEach(([when, kind]) => picture.append(kind === "failure"
        ? drawn("path", { d: `M${at(when)} ${y - 8}l8 8l-8 8l-8 -8z`, class: "event failed" })
        : drawn("circle", { cx: at(when), cy: y, r: 5, class: "event" })));
    });
    picture.append(drawn("text", { x: left, y: bottom + 18, class: "time" }, words(low)),
      drawn("text", { x: width - 16, y: bottom + 18, class: "time", "text-anchor": "end" }, words(high)));
    const first = lanes.ranks.reduce((one, other) => other.to < one.to ? other : one);
    const caption = element("figcaption", {}, `◆ ${say("lanes.failure")}  ○ ${say("lanes.echo")} `,
      lanes.timed && high - first.to >= SILENT ? say("lanes.first", { rank: first.rank, at: words(first.to) }) : null);
    section.querySelector("figure").replaceChildren(picture, caption);
  }

  function drawn(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text) made.textContent = text;
    return made;
  }

  /* Facts as chips: each can be changed or removed. */
  function drawKnown() {
    const list = root.querySelector("#d-known");
    const facts = view.known.evidence.observations.filter(o => o.present && o.id.includes("="));
    list.replaceChildren(...facts.map(chip));
    if (!facts.length) list.append(element("li", { className: "faint" }, say("nothing-known")));
  }

  function chip(o) {
    const [name, value] = distkb.parted(o.id), fact = engine.table.facts.get(name), words = engine.facts.get(name);
    const choice = element("select", {},
      ...fact.values.map((v, n) => element("option", { value: v.value, selected: v.value === value }, words[2][n])));
    choice.setAttribute("aria-label", words[0]);
    choice.addEventListener("change", () => {
      act({ type: "answered", question: name, values: [choice.value], offered: [] });
    });
    const source = o.source === "report" || o.source === "answer" ? o.source : "probe";
    const item = element("li", {}, element("span", { className: "id", translate: false }, name), " ", choice, " ",
      element("small", {}, say(`from.${source}`)));
    if (source !== "probe") {
      const remove = button("×", () => forget(o.id));
      remove.setAttribute("aria-label", say("remove", { what: meaning(o.id, true) }));
      item.append(" ", remove);
    }
    return item;
  }

  /* What was asked and tried besides: each can be taken back. */
  function drawCourse() {
    const list = root.querySelector("#d-course");
    const items = engine.session.standing(events).map(number => [number, did(events[number])])
      .filter(pair => pair[1]).map(([number, text]) => {
        const remove = button("×", () => act({ type: "withdrawn", number }));
        remove.setAttribute("aria-label", say("remove", { what: text }));
        return element("li", {}, text, " ", remove);
      });
    list.replaceChildren(...items);
    list.previousElementSibling.hidden = !items.length;
  }

  function did(event) {
    const step = event.step && engine.session.steps.find(one => one.id === event.step);
    const what = step ? engine.words.steps[step.number].split(/(?<=[.:])\s/)[0] : "";
    switch (event.type) {
      case "answered":
        return event.offered.length ? say("did.lines", { n: event.values.length, all: event.offered.length }) : "";
      case "dont-know":
        return say("did.unknown", {
          what: event.offered.length ? engine.words.lines[0] : engine.facts.get(event.question)[0]
        });
      case "evidence-added": return say("did.read", { what: step ? what : say("description") });
      case "probe-result": return say("did.step", { what });
      case "step-declined": return say("did.declined", { what });
      case "fix-tried": return `${say(`fix.${event.outcome}`)}: ${event.fix} ${fixTitle(event.fix)}`;
      default: return "";
    }
  }

  function fixTitle(id) { return engine.words.fixes[engine.table.fixes.get(id).number]; }

  /* ---- the next move ---- */

  function nameOf(move) {
    switch (move.type) {
      case "ask": return move.question.kind === "lines" ? engine.words.lines[0] : engine.facts.get(move.question.id)[0];
      case "take": return engine.words.steps[move.step.number];
      case "try-fix": return `${say("fix")}: ${fixTitle(move.fix.id)}`;
      case "done": return say("done");
      default: return say("lost");
    }
  }

  function drawMove(move) {
    const card = root.querySelector("#d-move");
    const heading = element("h2", { id: "d-move-title", tabIndex: -1 });
    const bodies = { ask: askCard, take: takeCard, "try-fix": fixCard, done: doneCard };
    heading.textContent = move.type === "try-fix" ? say("fix") : move.type === "take" && !isOutput(move)
      ? say(move.step.commands.length ? "take" : "next") : nameOf(move);
    if (move.type === "take" && isOutput(move)) heading.textContent = say("output");
    card.replaceChildren(heading, ...(bodies[move.type] || lostCard)(move), ...insteadOf(move));
  }

  function insteadOf(move) {
    const others = view.moves.filter(one => one !== move && one.type !== "nothing-fits" && one.type !== "done");
    if (!others.length) return [];
    const items = others.map(one => element("li", {}, button(nameOf(one), () => {
      shown = one;
      drawMove(one);
      root.querySelector("#d-move-title").focus();
    })));
    const list = element("ul", { className: "instead" }, ...items);
    return [element("details", {}, element("summary", {}, say("instead")), list)];
  }

  function whyAsked(text) {
    return element("details", {}, element("summary", {}, say("why")), element("p", {}, inline(text)));
  }

  function askCard(move) {
    const question = move.question;
    if (question.kind === "lines") return linesCard(move);
    const words = engine.facts.get(question.id);
    const answer = values => act({ type: "answered", question: question.id, values, offered: [] });
    const unknown = button(say("dont-know"), () => act({ type: "dont-know", question: question.id, offered: [] }));
    const why = whyAsked(words[1]), label = option => meaning(`${question.id}=${option.value}`, true);
    if (question.multi) {
      const options = question.options.map(option => check(option.value, inline(label(option))));
      return [choices(options), element("p", { className: "row" },
        button(say("answer"), () => { if (chosen(options).length) answer(chosen(options)); }, true), unknown), why];
    }
    const answers = question.options.map(option => button(label(option), () => answer([option.value])));
    return [numbered(element("div", { className: "answers" }, ...answers, unknown)), why];
  }

  /* Number keys choose while one of the answers has the focus, and only then. */
  function numbered(group) {
    group.setAttribute("role", "group");
    group.setAttribute("aria-labelledby", "d-move-title");
    group.addEventListener("keydown", event => {
      const at = "1234567890".indexOf(event.key);
      if (at < 0 || event.ctrlKey || event.altKey || event.metaKey || !group.children[at]) return;
      event.preventDefault();
      group.children[at].click();
    });
    return group;
  }

  function check(value, ...content) {
    const input = element("input", { type: "checkbox", value });
    return element("label", { className: "check" }, input, " ", element("span", {}, ...content));
  }

  function choices(options) {
    const group = element("div", { className: "checks" }, ...options);
    group.setAttribute("role", "group");
    group.setAttribute("aria-labelledby", "d-move-title");
    return group;
  }

  function chosen(options) {
    return options.map(one => one.querySelector("input")).filter(one => one.checked).map(one => one.value);
  }

  function linesCard(move) {
    const offered = move.question.options.map(option => option.value);
    const options = move.question.options.map(option => check(option.value,
      element("code", { className: "example", translate: false, lang: "en" }, option.example),
      inline(meaning(option.value))));
    const answer = values => act({ type: "answered", question: move.question.id, values, offered });
    return [choices(options), element("p", { className: "row" },
      button(say("answer"), () => { if (chosen(options).length) answer(chosen(options)); }, true),
      button(say("none"), () => answer([])),
      button(say("dont-know"), () => act({ type: "dont-know", question: move.question.id, offered }))),
    whyAsked(engine.words.lines[1])];
  }

  function isOutput(move) { return move.step.id === engine.table.constants.output; }

  /* A command with a button that copies it, as on the other pages. */
  function command(text) {
    const block = element("pre", { className: "cmd", tabIndex: 0, translate: false }, element("code", {}, text));
    const said = document.querySelector(".said").dataset;
    const copy = button(said.copy, () => distkb.copied(text).then(() => {
      copy.textContent = state.textContent = said.copied;
    }));
    copy.className = "copy";
    return element("div", { className: "frame" }, block, copy);
  }

  function takeCard(move) {
    const step = move.step, text = element("p", {}, inline(engine.words.steps[step.number]));
    const cannot = button(say("take.cannot"), () => act({ type: "step-declined", step: step.id }));
    if (isOutput(move)) return outputCard(step, text, cannot);
    const reveals = step.reveals.filter(id => engine.table.kinds.has(id));
    const options = reveals.map(id => check(id, inline(meaning(id)), " ", element("code", { translate: false }, id)));
    const answer = values => act({
      type: "probe-result", step: step.id, clear: reveals.filter(id => !values.includes(id)),
      observations: values.map(id => ({ id, source: "probe", present: true, certainty: 1, quotes: [], count: 1 }))
    });
    return [text, command(step.commands.join("\n")), element("h3", {}, say("take.shown")), choices(options),
      element("p", { className: "row" },
        button(say("answer"), () => { if (chosen(options).length) answer(chosen(options)); }, true),
        button(say("take.none"), () => answer([])), cannot)];
  }

  function outputCard(step, text, cannot) {
    const area = element("textarea", { rows: 6, spellcheck: false, id: "d-output" });
    const label = element("label", { htmlFor: "d-output" }, say("output.label"));
    const submit = () => { if (area.value.trim()) read(area.value, "output", step.id); };
    return [text, label, area, element("p", { className: "row" }, button(say("output.read"), submit, true), cannot)];
  }

  /* The long texts of the fixes come when the first fix is shown. */
  function withFixes(then) {
    if (distkb.diagnoseFixes) then();
    else load(root.dataset.fixes).then(then).catch(() => {});
  }

  function diffLine(line) {
    const tag = line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span";
    return [element(tag, {}, line), "\n"];
  }

  function verifyLine(text) {
    return element("p", { className: "verify" }, element("strong", {}, say("verify")), " ", inline(text));
  }

  function fixBody(fix, where) {
    withFixes(() => {
      const [steps, commands, verify, changes, diff] = distkb.diagnoseFixes[fix.number];
      where.replaceChildren(
        steps.length ? element("ol", {}, ...steps.map(step => element("li", {}, inline(step)))) : null,
        ...commands.map(command));
      if (diff.length) {
        where.append(element("pre", { className: "diff", tabIndex: 0, translate: false },
          element("code", {}, ...diff.flatMap(diffLine))));
      }
      if (changes) where.append(element("p", { className: "warn" }, `${say("changes")} `, inline(changes)));
      where.append(verifyLine(verify));
    });
    return where;
  }

  function fixCard(move) {
    const fix = move.fix, tried = outcome => act({ type: "fix-tried", fix: fix.id, outcome });
    const terms = say("fix.chance", {
      percent: percent(move.chance), cost: say(`cost.${fix.cost}`), risk: say(`risk.${fix.risk}`)
    });
    return [
      element("p", { className: "name" }, link(fix.id), " ", inline(fixTitle(fix.id))),
      element("p", { className: "faint" }, terms, fix.workaround ? ` ${say("fix.workaround")}` : ""),
      fixBody(fix, element("div", {})), element("p", {}, link(fix.id, say("fix.more"))),
      element("h3", {}, say("fix.asked")),
      element("p", { className: "row" }, button(say("fix.helped"), () => tried("helped"), true),
        button(say("fix.did-not-help"), () => tried("did-not-help")),
        button(say("fix.could-not-try"), () => tried("could-not-try")))
    ];
  }

  function doneCard(move) {
    const verify = element("div", {});
    withFixes(() => {
      verify.append(verifyLine(distkb.diagnoseFixes[move.fix.number][2]));
    });
    return [element("p", {}, say("done.text")),
      element("p", { className: "name" }, link(move.fix.id), " ", inline(fixTitle(move.fix.id))), verify];
  }

  function lostCard() { return [element("p", {}, say("lost.text"))]; }

  /* ---- the whole session as Markdown ---- */

  function markdown() {
    const out = [`# ${say("markdown")}`, ""];
    const facts = view.known.evidence.observations.filter(o => o.present && o.id.includes("="));
    out.push(say(view.answer.verdict, { id: view.answer.entries[0].id }), "", `## ${word("causes")}`, "");
    view.answer.entries.slice(0, SHOWN).forEach((entry, n) => {
      out.push(`${n + 1}. **${entry.id}** ${engine.titles.get(entry.id)}: ${percent(entry.probability)}`);
      entry.causes[0].evidence.slice(0, 8).forEach(one => out.push(`   - ${evidenceItem(one).textContent}`));
    });
    out.push(`- ${say("other")}: ${percent(view.answer.other)}`, "", `## ${word("known")}`, "");
    facts.forEach(o => out.push(`- ${meaning(o.id)}`));
    out.push("", `## ${word("course")}`, "");
    engine.session.standing(events).map(n => did(events[n])).filter(Boolean).forEach(text => out.push(`- ${text}`));
    out.push("", `## ${nameOf(view.moves[0])}`, "");
    if (view.moves[0].step) out.push("```", ...view.moves[0].step.commands, "```");
    return `${out.join("\n")}\n`;
  }

  function word(key) { return engine.words.say[key]; }

  /* ---- what the person does ---- */

  function note() {
    const line = root.querySelector("#d-held");
    line.hidden = !held;
    line.firstElementChild.textContent = !held ? "" : say("held", {
      size: (held.length / 1e6).toFixed(1), lines: held.split("\n").length.toLocaleString(),
      most: engine.words.most
    });
  }

  /* Long text is kept beside the box: laying out megabytes in it would freeze the page. */
  async function hold(text) {
    held = text;
    await prepare();
    note();
    await diagnose();
  }

  box.addEventListener("paste", event => {
    const text = event.clipboardData ? event.clipboardData.getData("text/plain") : "";
    if (text.length > LARGE) {
      event.preventDefault();
      hold(text);
    } else {
      asked = setTimeout(diagnose, 0);
    }
  });
  box.addEventListener("focus", prepare);
  box.addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) diagnose();
  });
  root.querySelector("form").addEventListener("submit", event => {
    event.preventDefault();
    clearTimeout(asked);
    diagnose();
  });
  root.querySelector("#d-held button").addEventListener("click", () => {
    held = "";
    note();
    diagnose();
    box.focus();
  });
  root.querySelector("#d-file").addEventListener("change", event => {
    const file = event.target.files[0];
    if (file) file.text().then(hold);
  });
  root.querySelector("#d-ask").addEventListener("click", () => prepare().then(() => {
    draw();
    const questions = view.moves.filter(move => move.type === "ask");
    shown = questions.find(move => move.question.kind === "fact") || questions[0] || view.moves[0];
    drawMove(shown);
    announce();
  }));
  root.querySelector("#d-undo").addEventListener("click", () => act({ type: "Undone" }));
  root.querySelector("#d-redo").addEventListener("click", () => act({ type: "Redone" }));
  root.querySelector("#d-over").addEventListener("click", () => {
    events = [];
    held = box.value = "";
    forgetAll();
    note();
    root.querySelector("#d-result").hidden = true;
    state.textContent = "";
    box.focus();
  });
  root.querySelector("#d-copy").addEventListener("click", () => {
    distkb.copied(markdown()).then(() => { state.textContent = say("copied"); });
  });
  /* ---- what a reload, the other language and a link keep ---- */

  /* This tab remembers the session until it is closed or begun anew; nothing else does. */
  function keep() {
    try { sessionStorage.setItem(KEPT, JSON.stringify({ events, text: box.value })); } catch (error) { forgetAll(); }
  }

  function forgetAll() {
    try { sessionStorage.removeItem(KEPT); } catch (error) { /* storage is off */ }
    if (location.hash.startsWith(LINK)) history.replaceState(null, "", location.pathname + location.search);
  }

  async function through(stream, bytes) {
    return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  }

  /* A session as the end of an address: what was read out of the text, not the text. */
  async function linkOf() {
    const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(events)));
    const text = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
    return LINK + text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  async function eventsOf(hash) {
    const text = atob(hash.slice(LINK.length).replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(text, char => char.charCodeAt(0)));
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  /* Show events that came from outside: what the page does not know of it drops all of them. */
  async function resume(given) {
    if (!Array.isArray(given) || !given.every(event => event && KINDS.includes(event.type))) throw new Error("events");
    await prepare();
    const before = events;
    try {
      events = given;
      shown = null;
      draw();
    } catch (error) {
      events = before;
      root.querySelector("#d-result").hidden = true;
      throw error;
    }
  }

  async function begin() {
    const stored = name => { try { return sessionStorage.getItem(name); } catch (error) { return null; } };
    const pasted = stored(PASTED), kept = stored(KEPT);
    if (pasted) {
      sessionStorage.removeItem(PASTED);
      if (pasted.length > LARGE) return hold(pasted);
      box.value = pasted;
      return diagnose();
    }
    if (location.hash.startsWith(LINK)) {
      await eventsOf(location.hash).then(resume).catch(() => { state.textContent = root.dataset.link; });
    } else if (kept) {
      const { events: given, text } = JSON.parse(kept);
      await resume(given).catch(forgetAll);
      if (events.length) box.value = String(text || "");
    }
  }

  root.querySelector("#d-share").addEventListener("click", async () => {
    const hash = await linkOf();
    history.replaceState(null, "", hash);
    await distkb.copied(location.href);
    state.textContent = say("shared");
  });
  begin().catch(() => {});
  /* For tests: the ranking of a text by the page's own engine, as it is pasted, or read as a report in any case. */
  distkb.rank = (text, asReport) => prepare().then(() => evidenceOf(text, asReport)).then(evidence => {
    const found = engine.session.view(text.trim() ? [{ type: "evidence-added", label: "description", evidence }] : []);
    return { entries: found.answer.entries.map(entry => entry.id), verdict: found.answer.verdict, next: found.moves.map(move => (move.step || move.question || move.fix).id) };
  });
})();
