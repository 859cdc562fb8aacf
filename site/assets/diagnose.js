/* The page that diagnoses: distkb itself runs in a worker of the page, reads what is given, and says what to show.
   All state is the list of events; every change draws the page anew. Text from data goes in as text only. */
(() => {
  "use strict";
  const distkb = window.distkb = window.distkb || {};
  const root = document.getElementById("diagnose");
  if (!root) return;
  const box = root.querySelector("#d-text"), state = root.querySelector("#d-state");
  const LARGE = 60000, SILENT = 1, KEPT = "distkb-session", PASTED = "distkb-paste", LINK = "#s=";
  let ready = null, words = null, events = [], given = [], asked = 0, reads = 0, draws = 0;
  let shown = null, view = null, acting = null, reading = false, stop = () => {};
  const pruned = new Set(root.dataset.pruned.split(" "));

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
    return words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  /* What the program shows comes as elements: a list of tag, classes and children, or a text. */
  function built(node) {
    if (typeof node === "string") return node;
    const [tag, classes, ...children] = node;
    if (tag === "a") return link(children[0]);
    if (tag === "pre" && classes === "cmd") return command(children[0]);
    const made = element(tag, { className: classes });
    (tag === "pre" ? made.appendChild(element("code", {})) : made).append(...children.map(built));
    if (tag === "pre") made.tabIndex = 0;
    if (tag === "pre" || tag === "q" || tag === "code") made.translate = false;
    return made;
  }

  const inline = nodes => element("span", {}, ...nodes.map(built));

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

  /* A command with a button that copies it, as on the other pages. */
  function command(text) {
    const block = element("pre", { className: "cmd", tabIndex: 0, translate: false }, element("code", {}, text));
    const said = document.querySelector(".said").dataset;
    const copy = button(said.copy, () => distkb.copied(text).then(() => {
      copy.textContent = state.textContent = said.copied;
    }, failed));
    copy.className = "copy";
    return element("div", { className: "frame" }, block, copy);
  }

  /* ---- the program ---- */

  function load(address) {
    return new Promise((done, failed) => {
      const script = element("script", { src: address, onload: done });
      script.onerror = () => { script.remove(); failed(new Error(address)); };
      document.head.append(script);
    });
  }

  /* Start the program in a worker, once. Return a promise of what calls it: the name of a call, and its values. */
  async function start() {
    await load(root.dataset.engine);
    const { "worker.js": source, ...files } = distkb.engine;
    delete distkb.engine;
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    const waiting = new Map();
    let number = 0;
    stop = reason => {
      worker.terminate();
      ready = null;
      waiting.forEach(([, failed]) => failed(new Error(reason)));
      waiting.clear();
    };
    worker.onmessage = ({ data }) => {
      const one = waiting.get(data.number);
      if (!one) return;
      waiting.delete(data.number);
      if (!("error" in data)) return one[0](data.answer);
      one[1](new Error(data.error));
      if (data.fatal || !words) stop(data.error);
    };
    worker.onerror = event => stop(event.message);
    const call = (name, values) => new Promise((done, failed) => {
      waiting.set(++number, [done, failed]);
      worker.postMessage(Object.assign({ number, call: name }, values));
    });
    words = JSON.parse(await call("open", { files, lang: document.documentElement.lang }));
    if (!reads) call("warm", {}).catch(() => {});
    root.dataset.ready = "";
    return call;
  }

  function prepare() {
    if (!ready) {
      if (!words) state.textContent = root.dataset.loading;
      ready = start();
      ready.then(() => { if (state.textContent === root.dataset.loading) state.textContent = ""; }, error => {
        ready = null;
        state.textContent = `${root.dataset.failed} (${error.message})`;
      });
    }
    return ready;
  }

  function failed(error) {
    state.textContent = words ? say("unread", { why: error.message }) : `${root.dataset.failed} (${error.message})`;
  }

  /* Read a text and files, and let what they show be one event of the session. */
  async function read(text, files, label, step) {
    const begun = performance.now(), mine = ++reads;
    try {
      const call = await prepare();
      if (mine !== reads) return;
      reading = true;
      state.textContent = say("reading");
      const event = JSON.parse(await call("read", { text, files, label, step: step || null }));
      reading = false;
      if (mine !== reads || !await act(event, label === "description" ? "#d-said" : "#d-move-title")) return;
      const took = (performance.now() - begun) / 1000;
      root.dataset.took = String(took);
      state.textContent += ` ${say("took", { s: took.toFixed(1) })}`;
    } catch (error) {
      reading = false;
      if (mine === reads) failed(error);
    }
  }

  const diagnose = () => read(box.value, given, "description");

  /* End a reading that nobody waits for any more. */
  function giveUp() {
    reads += 1;
    if (reading) stop("");
    state.textContent = "";
  }

  /* ---- events ---- */

  /* Add an event, one at a time; return whether it could be shown: what cannot be is taken out again. */
  async function act(event, focus) {
    while (acting) await acting;
    const before = events, card = root.querySelector("#d-move");
    events = before.concat([event]);
    shown = null;
    card.inert = true;
    acting = draw(focus || "#d-move-title").then(() => true, error => {
      if (events[events.length - 1] === event) events = before;
      failed(error);
      return false;
    });
    const drawn = await acting;
    acting = null;
    card.inert = false;
    if (drawn && events.length) keep();
    return drawn;
  }

  /* ---- drawing ---- */

  /* Show what the events amount to; `focus` is what then has the focus. */
  async function draw(focus) {
    const mine = ++draws, call = await prepare(), now = JSON.parse(await call("show", { events: JSON.stringify(events) }));
    if (mine !== draws) return;
    view = now;
    root.querySelector("#d-result").hidden = false;
    drawAnswer();
    drawMove(shown || view.moves[0]);
    drawLanes();
    drawKnown();
    drawCourse();
    root.querySelector("#d-undo").disabled = !view.canUndo;
    root.querySelector("#d-redo").disabled = !view.canRedo;
    root.querySelector("#d-move").inert = false;
    if (focus) {
      const wanted = root.querySelector(focus);
      state.textContent = root.querySelector("#d-said").textContent;
      (wanted && !wanted.disabled ? wanted : root.querySelector("#d-move-title")).focus();
    }
    root.dataset.drawn = String(mine);
  }

  function drawAnswer() {
    const answer = root.querySelector("#d-answer"), [first, ...rest] = view.answer;
    const head = element("h2", { id: "d-said", tabIndex: -1 }, ...first.slice(2).map(built));
    const notes = view.skipped.map(text => element("p", { className: "faint" }, text));
    answer.replaceChildren(head, ...notes, ...rest.map(built));
    const list = root.querySelector("#d-causes");
    list.replaceChildren(...view.entries.map(entry => element("li", {}, element("p", { className: "head" },
      element("span", {}, link(entry.id), " ", inline(entry.title)), bar(entry.share, entry.percent)))));
    list.append(element("li", { className: "none" }, element("p", { className: "head" },
      element("span", {}, say("other")), bar(view.other.share, view.other.percent))));
  }

  function bar(share, percent) {
    const meter = element("span", { className: "meter" });
    const fill = element("span", {});
    fill.style.width = `${Math.max(1, 100 * share)}%`;
    meter.setAttribute("aria-hidden", "true");
    meter.append(fill);
    return element("span", { className: "chance" }, meter, element("b", {}, percent));
  }

  /* When each rank spoke last, a lane for each, with what failed on it; the roll call says the same in words. */
  function drawLanes() {
    const section = root.querySelector("#d-lanes"), lanes = view.lanes;
    section.hidden = !lanes;
    if (!lanes) return;
    const low = lanes.from, high = lanes.until, left = 72, row = 28, bottom = row * lanes.ranks.length;
    const width = Math.max(300, Math.min(640, section.parentElement.clientWidth));
    const at = value => left + (width - left - 16) * (value - low) / (high - low);
    const clock = value => new Date(value * 1000).toISOString().slice(11, high - low < 10 ? 23 : 19);
    const picture = drawn("svg", {
      class: "drawing lanes", viewBox: `0 0 ${width} ${bottom + 24}`, role: "img", "aria-label": lanes.told
    });
    lanes.ranks.forEach((lane, place) => {
      const y = row * (place + .5);
      picture.append(drawn("text", { x: 0, y: y + 4, class: "head" }, say("lanes.who", { rank: lane.rank })),
        drawn("path", { d: `M${left} ${y}H${at(lane.to)}`, class: "lane" }),
        drawn("path", { d: `M${at(lane.to)} ${y - 6}v12`, class: "lane" }));
      lane.marks.forEach(when => picture.append(drawn("path", {
        d: `M${at(when)} ${y - 8}l8 8l-8 8l-8 -8z`, class: "event failed"
      })));
    });
    picture.append(drawn("text", { x: left, y: bottom + 18, class: "time" }, clock(low)),
      drawn("text", { x: width - 16, y: bottom + 18, class: "time", "text-anchor": "end" }, clock(high)));
    const first = lanes.ranks.reduce((one, other) => other.to < one.to ? other : one);
    const caption = element("figcaption", {}, `◆ ${say("lanes.failure")} `,
      high - first.to >= SILENT ? say("lanes.first", { rank: first.rank, at: clock(first.to) }) : null);
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
    list.replaceChildren(...view.facts.map(chip));
    if (!view.facts.length) list.append(element("li", { className: "faint" }, say("nothing-known")));
  }

  function chip(fact) {
    const id = `d-fact-${fact.id}`, choice = element("select", { id },
      ...fact.options.map(([value, label]) => element("option", { value, selected: value === fact.value }, label)));
    choice.setAttribute("aria-label", fact.question);
    choice.addEventListener("change", () => {
      act({ type: "answered", question: fact.id, values: [choice.value] }, `#${CSS.escape(id)}`);
    });
    const remove = button("×", () => act({ type: "dont-know", question: fact.id }));
    remove.setAttribute("aria-label", say("remove", { what: choice.selectedOptions[0].textContent }));
    return element("li", {}, element("span", { className: "id", translate: false }, fact.id), " ", choice, " ",
      element("small", {}, say(`from.${fact.source}`)), " ", remove);
  }

  /* What was asked and tried besides: each can be taken back. */
  function drawCourse() {
    const list = root.querySelector("#d-course");
    list.replaceChildren(...view.course.map(({ number, text }) => {
      const remove = button("×", () => act({ type: "withdrawn", number }));
      remove.setAttribute("aria-label", say("remove", { what: text }));
      return element("li", {}, text, " ", remove);
    }));
    list.previousElementSibling.hidden = !view.course.length;
  }

  /* ---- the next move ---- */

  function drawMove(move) {
    const card = root.querySelector("#d-move"), heading = element("h2", { id: "d-move-title", tabIndex: -1 });
    const bodies = { ask: askCard, take: takeCard, "try-fix": fixCard, done: doneCard };
    heading.textContent = move.type === "try-fix" ? say("fix")
      : move.type !== "take" ? move.name : say(move.kind === "output" ? "output" : move.commands ? "take" : "next");
    card.replaceChildren(heading, ...(bodies[move.type] || lostCard)(move), ...insteadOf(move));
  }

  function insteadOf(move) {
    const others = view.moves.filter(one => one !== move && one.type !== "nothing-fits" && one.type !== "done");
    if (!others.length) return [];
    const items = others.map(one => element("li", {}, button(one.name, () => {
      shown = one;
      drawMove(one);
      root.querySelector("#d-move-title").focus();
    })));
    const list = element("ul", { className: "instead" }, ...items);
    return [element("details", {}, element("summary", {}, say("instead")), list)];
  }

  function askCard(move) {
    const lines = move.kind === "lines", offered = lines ? move.options.map(option => option.value) : [];
    const answer = values => act({ type: "answered", question: move.id, values, offered });
    const unknown = button(say("dont-know"), () => act({ type: "dont-know", question: move.id, offered }));
    const why = element("details", {}, element("summary", {}, say("why")), element("p", {}, inline(move.why)));
    if (!move.multi) {
      const answers = move.options.map(option => element("button", {
        type: "button", on: () => answer([option.value])
      }, inline(option.label)));
      return [numbered(element("div", { className: "answers" }, ...answers, unknown)), why];
    }
    const options = move.options.map(option => check(option.value, option.example
      ? element("code", { className: "example", translate: false, lang: "en" }, option.example) : null,
    inline(option.label)));
    return [choices(options), element("p", { className: "row" },
      button(say("answer"), () => { if (chosen(options).length) answer(chosen(options)); }, true),
      lines ? button(say("none"), () => answer([])) : null, unknown), why];
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
    return element("label", { className: "check" }, input, " ", element("span", {}, ...content.filter(Boolean)));
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

  function takeCard(move) {
    const text = element("p", {}, inline(move.text));
    const cannot = button(say("take.cannot"), () => act({ type: "step-declined", step: move.id }));
    if (move.kind === "output") return outputCard(move, text, cannot);
    const reveals = move.reveals.map(one => one.id);
    const options = move.reveals.map(one => check(one.id, inline(one.means), " ",
      element("code", { translate: false }, one.id)));
    const answer = values => act({
      type: "probe-result", step: move.id, clear: reveals.filter(id => !values.includes(id)),
      observations: values.map(id => ({ id, source: "probe" }))
    });
    return [text, move.commands ? command(move.commands) : null, element("h3", {}, say("take.shown")), choices(options),
      element("p", { className: "row" },
        button(say("answer"), () => { if (chosen(options).length) answer(chosen(options)); }, true),
        button(say("take.none"), () => answer([])), cannot)].filter(Boolean);
  }

  function outputCard(move, text, cannot) {
    const area = element("textarea", { rows: 6, spellcheck: false, id: "d-output" });
    const label = element("label", { htmlFor: "d-output" }, say("output.label"));
    const submit = () => {
      if (area.value.trim()) read("", [["output.log", new Blob([area.value])]], "output.log", move.id);
    };
    return [text, label, area, element("p", { className: "row" }, button(say("output.read"), submit, true), cannot)];
  }

  function fixCard(move) {
    const tried = outcome => act({ type: "fix-tried", fix: move.id, outcome });
    return [
      element("p", { className: "name" }, link(move.id), " ", inline(move.title)),
      element("p", { className: "faint" }, move.terms, move.workaround ? ` ${say("fix.workaround")}` : ""),
      ...move.told.map(built), element("p", {}, link(move.id, say("fix.more"))),
      element("h3", {}, say("fix.asked")),
      element("p", { className: "row" }, button(say("fix.helped"), () => tried("helped"), true),
        button(say("fix.did-not-help"), () => tried("did-not-help")),
        button(say("fix.could-not-try"), () => tried("could-not-try")))
    ];
  }

  function doneCard(move) {
    return [element("p", {}, say("done.text")),
      element("p", { className: "name" }, link(move.id), " ", inline(move.title)),
      element("p", { className: "verify" }, inline(move.told))];
  }

  function lostCard() { return [element("p", {}, say("lost.text"))]; }

  /* ---- what the person does ---- */

  /* Files are held as pairs of a path and its content. */
  function hold(files) {
    given = files;
    const line = root.querySelector("#d-held"), size = files.reduce((sum, [, data]) => sum + data.size, 0);
    line.hidden = !files.length;
    const told = size < 1e6 ? `${Math.ceil(size / 1e3)} kB` : `${(size / 1e6).toFixed(1)} MB`;
    line.firstElementChild.textContent = line.dataset.held.replace("{n}", files.length).replace("{size}", told);
  }

  /* Take files; folders that nobody's run writes to are left out, as in a terminal. */
  function give(files) {
    const wanted = files.filter(([name]) => !name.split("/").slice(0, -1).some(part => pruned.has(part)));
    if (!wanted.length) {
      state.textContent = root.dataset.empty;
      return;
    }
    hold(wanted);
    diagnose();
  }

  const paste = text => give([...given.filter(([name]) => name !== "pasted.log"), ["pasted.log", new Blob([text])]]);

  const named = files => Array.from(files, file => [file.webkitRelativePath || file.name, file]);

  /* Add all files below what was dropped, with their paths; what cannot be read is left out. A page that was opened
     from disk gets handles, since a browser refuses it the older kind of entry. */
  async function walk(entry, path, found) {
    const name = path + entry.name;
    try {
      if (entry.kind === "file") found.push([name, await entry.getFile()]);
      else if (entry.isFile) found.push([name, await new Promise((done, refused) => entry.file(done, refused))]);
      else if (!pruned.has(entry.name)) {
        for await (const one of entry.values ? entry.values() : within(entry)) await walk(one, `${name}/`, found);
      }
    } catch (error) { /* the others count */ }
    return found;
  }

  async function* within(folder) {
    const reader = folder.createReader();
    for (;;) {
      const some = await new Promise((done, refused) => reader.readEntries(done, refused));
      if (!some.length) return;
      yield* some;
    }
  }

  box.addEventListener("paste", event => {
    const text = event.clipboardData ? event.clipboardData.getData("text/plain") : "";
    if (text.length > LARGE) {  // laying out megabytes in the box would freeze the page
      event.preventDefault();
      paste(text);
    } else {
      asked = setTimeout(diagnose, 0);
    }
  });
  box.addEventListener("focus", () => { prepare().catch(() => {}); });
  box.addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) diagnose();
  });
  const form = root.querySelector("form");
  form.addEventListener("submit", event => {
    event.preventDefault();
    clearTimeout(asked);
    diagnose();
  });
  /* Files may be dropped anywhere on the page; dragged text goes where it is dropped. */
  const holdsFiles = event => event.dataTransfer.types.includes("Files");
  document.addEventListener("dragover", event => { if (holdsFiles(event)) event.preventDefault(); });
  document.addEventListener("drop", async event => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    prepare().catch(() => {});
    const items = Array.from(event.dataTransfer.items).filter(item => item.kind === "file"), found = [];
    const handles = location.protocol === "file:" && items.every(item => item.getAsFileSystemHandle);
    const entries = items.map(item => handles ? item.getAsFileSystemHandle() : item.webkitGetAsEntry());
    for (const entry of await Promise.all(entries)) await walk(entry, "", found);
    give(found);
  });
  root.querySelector("#d-held button").addEventListener("click", () => {
    giveUp();
    hold([]);
    box.focus();
  });
  root.querySelectorAll("input[type=file]").forEach(input => {
    input.addEventListener("change", () => {
      const files = named(input.files);
      input.value = "";  // the same files can be chosen again
      give(files);
    });
  });
  root.querySelector("#d-ask").addEventListener("click", async () => {
    try { await draw(); } catch (error) { return failed(error); }
    if (!view) return;
    const questions = view.moves.filter(move => move.type === "ask");
    shown = questions.find(move => move.kind === "fact") || questions[0] || view.moves[0];
    drawMove(shown);
    root.querySelector("#d-move-title").focus();
  });
  root.querySelector("#d-undo").addEventListener("click", () => act({ type: "undone" }, "#d-undo"));
  root.querySelector("#d-redo").addEventListener("click", () => act({ type: "redone" }, "#d-redo"));
  root.querySelector("#d-over").addEventListener("click", () => {
    giveUp();
    events = [];
    draws += 1;
    box.value = "";
    hold([]);
    forgetAll();
    root.querySelector("#d-result").hidden = true;
    box.focus();
  });
  root.querySelector("#d-copy").addEventListener("click", () => {
    distkb.copied(view.markdown).then(() => { state.textContent = say("copied"); }, failed);
  });

  /* ---- what a reload, the other language and a link keep ---- */

  /* This tab remembers the session until it is closed or begun anew; nothing else does. Where it holds no more, what
     was replaced goes first. */
  function keep() {
    unlink();
    const put = kept => sessionStorage.setItem(KEPT, JSON.stringify({ events: kept, text: box.value }));
    try { put(events); } catch (full) {
      try { put(standing()); } catch (error) { forgetAll(); }
    }
  }

  const standing = () => view.standing.map(number => events[number]);

  /* An address that holds a session holds it as it was: it goes when the session goes on. */
  function unlink() {
    if (location.hash.startsWith(LINK)) history.replaceState(null, "", location.pathname + location.search);
  }

  function forgetAll() {
    try { sessionStorage.removeItem(KEPT); } catch (error) { /* storage is off */ }
    unlink();
  }

  async function through(stream, bytes) {
    return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  }

  /* A session as the end of an address: what was read out of the text, not the text. */
  async function linkOf() {
    const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(standing())));
    const text = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
    return LINK + text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  async function eventsOf(hash) {
    const text = atob(hash.slice(LINK.length).replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(text, char => char.charCodeAt(0)));
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  /* Show events that came from outside: what the program does not know of it drops all of them. */
  async function resume(given) {
    const before = events;
    try {
      events = given;
      shown = null;
      await draw();
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
      if (pasted.length > LARGE) return paste(pasted);
      box.value = pasted;
      return diagnose();
    }
    const linked = location.hash.startsWith(LINK);
    if (!linked && !kept) return;
    const { events: before, text } = linked ? {} : JSON.parse(kept);
    box.value = text || "";
    await prepare();  // where that fails, nothing is forgotten
    if (linked) await eventsOf(location.hash).then(resume).catch(() => { state.textContent = root.dataset.link; });
    else await resume(before).catch(forgetAll);
  }

  root.querySelector("#d-share").addEventListener("click", async () => {
    try {
      const hash = await linkOf();
      history.replaceState(null, "", hash);
      await distkb.copied(location.href);
      state.textContent = say("shared");
    } catch (error) { failed(error); }
  });
  begin().catch(() => {});
})();
