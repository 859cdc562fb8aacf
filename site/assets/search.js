/*
 * The search box of every page, and the page of results; site.js loads this when the box is first used. Results are
 * entries, in the order of the program's own search, then settings, terms, guides and incidents.
 */
(() => {
  "use strict";
  const form = document.querySelector("form.search"), input = form.elements.q, popup = form.querySelector(".found");
  const list = document.getElementById("found"), note = popup.querySelector("p"), aloud = document.querySelector(".said");
  const page = document.querySelector(".results"), lang = document.documentElement.lang, data = form.dataset;
  const SHOWN = 6, ALL = 10, OTHERS = 4, LONGEST = 2000, LINES = 3, SPOKEN = 5;
  const big = input.tagName === "TEXTAREA";
  let index = null, ready = null, asked = 0, pasted = { flat: "", raw: "" };

  /* Load what finds, what it searches and the names to show: once, and again only after it failed. */
  function start() {
    const known = window.distkb && distkb.text;
    ready = ready || Promise.all([...known ? [] : ["text.js"], "search-index.js", `search-names-${lang}.js`].map(distkb.asset).map(known ? known.load : load)).then(() => {
      index = distkb.text.open(distkb.asset("search-index.js").replace(/[^/]*$/, ""));
    });
    ready.catch(() => { ready = null; });
    return ready;
  }

  function load(address) {
    return new Promise((done, failed) => {
      const script = element("script", "", { src: address });
      script.onload = done;
      script.onerror = failed;
      document.head.append(script);
    });
  }

  function element(name, text, attributes) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
  }

  /* The words around the results, which come with the names. */
  const said = () => distkb.searchNames.said;

  /* What was pasted keeps its lines, although the box shows one. */
  const words = () => (!big && input.value === pasted.flat ? pasted.raw : input.value).trim();

  const knownRows = query => distkb.text.knownLines(index, query).slice(0, LINES)
    .map(([id, text]) => ["", text, `m/${id}.html`, said()["by-line"], "", id]);

  /* Return the known lines that a query holds; on a page of results also those that have most of its words. */
  function linesFor(query) {
    const rows = knownRows(query), ids = new Set(rows.map(row => row[5]));
    if (!distkb.messages || /[\r\n]/.test(query)) return rows;
    const asked = [...distkb.text.wordsOf(query)].filter(word => word.length > 2);
    if (asked.length < 2) return rows;
    const near = lineWords().filter(([id]) => !ids.has(id)).map(([id, text, own]) => {
      const same = asked.filter(word => own.has(word));
      return [same.length / asked.length, id, text, same];
    }).filter(([share]) => share >= 0.6).sort((a, b) => b[0] - a[0] || a[2].length - b[2].length).slice(0, SPOKEN);
    return rows.concat(near.map(([, id, text, same]) =>
      ["", text, `m/${id}.html`, said()["by-words"].replace("{words}", same.slice(0, 4).join(", "))]));
  }

  let spoken = null;
  const lineWords = () => (spoken = spoken || distkb.messages.map(([id, text, means]) =>
    [id, text, distkb.text.wordsOf(`${text} ${means}`)]));

  /* Why an entry was found: by its id, by a line that it prints, by words that it shows, or by what the words mean. */
  function reason(query, number, needles) {
    const text = `${distkb.searchNames.entries[number]} ${page ? distkb.searchTexts[number] : ""}`.toLowerCase();
    if (distkb.text.namedEntries(index, query).has(number)) return said()["by-id"];
    const same = [...new Set(needles)].filter(word => word.length > 2 && text.includes(word)).slice(0, 4);
    return same.length ? said()["by-words"].replace("{words}", same.join(", ")) : said()["by-meaning"];
  }

  /* Return the groups of results: each the key of its name and rows of id, title, address, and on a page of results why
     it was found and how it begins. What was asked for by its exact name comes first. */
  function find(query) {
    const names = distkb.searchNames, needles = needlesOf(query), found = distkb.text.pieces(query), tokens = new Set(telling(found));
    const entries = distkb.text.search(index, query, page ? ALL : SHOWN, lang).map(([id]) =>
      [id, names.entries[index.ids.indexOf(id)], `e/${id}.html`, page && reason(query, index.ids.indexOf(id), needles),
        page && distkb.searchTexts[index.ids.indexOf(id)]]);
    const settings = names.places.flatMap(([place, where, ...listed]) => listed.map(one => {
      const [name, id] = [].concat(one);
      return [fit(query, name), [name, place, `${where}#${id || name}`]];
    })).filter(row => row[0]).sort((a, b) => b[0] - a[0]);
    const exact = settings.length > 0 && settings[0][0] === 3 && (/[_.-]|^[A-Z\d]+$/.test(settings[0][1][0]) || !/\s/.test(query)), lines = linesFor(query);
    const named = distkb.text.concepts(index, found).flatMap(match => match.words).map(word => word.replace(/^§~?/, ""));
    const terms = [...new Set(named)].filter(id => names.terms[id]).map(id => [...names.terms[id], `glossary.html#${id}`]);
    const texts = names.texts.filter(row => tokens.has(row[0].toLowerCase())
      || telling(distkb.text.pieces(row[3])).some(word => tokens.has(word)));
    const groups = { lines, entries, settings: settings.slice(0, OTHERS).map(row => row[1]), terms: terms.slice(0, OTHERS), texts: texts.slice(0, OTHERS) };
    const order = exact ? ["settings", "lines", "entries"] : lines.length && lines[0][3] === said()["by-line"] || !entries.length
      ? ["lines", "entries", "settings"] : ["entries", "lines", "settings"];
    return [...order, "terms", "texts"].map(key => [key, groups[key]]).filter(([, rows]) => rows.length);
  }

  const telling = found => found.flatMap(piece => piece.tokens).filter(token => /word|whole|pair/.test(token[1])).map(token => token[0]);

  /* Return how well a name fits one of the words: 3 is it, 2 begins like it, 1 has it as a part. */
  function fit(query, name) {
    const flat = text => text.toLowerCase().replace(/^-+/, "").replace(/-/g, "_"), wanted = flat(name);
    return Math.max(...query.split(/[\s=:,;"'\x60]+/).map(flat).map(word => {
      if (word === wanted) return 3;
      if (word.length < 4) return 0;
      return wanted.startsWith(word) ? 2 : +wanted.includes("_" + word);
    }));
  }

  /* Return a text as nodes, what the words share with it marked. */
  function marked(text, needles) {
    const low = text.toLowerCase(), spans = [], out = [];
    let at = 0;
    for (const needle of needles) {
      for (let start = low.indexOf(needle); start >= 0; start = low.indexOf(needle, start + 1)) {
        const latin = /[a-z0-9]/.test(needle[0]), rest = /^[a-z0-9]*/.exec(low.slice(start + needle.length))[0].length;
        if (!latin || !/[a-z0-9]/.test(low[start - 1] || "")) spans.push([start, start + needle.length + (latin ? rest : 0)]);
      }
    }
    spans.sort((a, b) => a[0] - b[0]);
    while (spans.length) {
      let [start, end] = spans.shift();
      while (spans.length && spans[0][0] <= end) end = Math.max(end, spans.shift()[1]);
      out.push(text.slice(at, start), element("mark", text.slice(start, end)));
      at = end;
    }
    return [...out, text.slice(at)];
  }

  const needlesOf = query => distkb.text.pieces(query).flatMap(piece => piece.tokens).map(token => token[0])
    .filter(word => word.length > 1);

  function option([id, title, address], needles, role) {
    const link = element("a", "", { href: data.home + address, ...role });
    if (id) link.append(element("span", id, { class: "id", translate: "no" }), " ");
    else link.className = "line";
    link.append(...marked(title, needles));
    return link;
  }

  /* Show the results below the box. */
  function suggest(groups, needles, count) {
    let number = 0;
    const role = () => ({ role: "option", id: `found-${number++}`, tabindex: "-1", "aria-selected": "false" });
    list.replaceChildren(...groups.map(([key, rows]) => {
      const group = element("div", "", { role: "group", "aria-label": said()[key], "data-group": key });
      group.append(element("p", said()[key], { "aria-hidden": "true" }), ...rows.map(row => option(row, needles, role())));
      return group;
    }));
    list.hidden = !groups.length;
    if (groups.length) list.append(element("a", said().all, { href: address(), class: "all", ...role() }));
    tell(count);
    input.removeAttribute("aria-activedescendant");
    show(true);
  }

  /* Show the results in the page of results. */
  function report(groups, needles, count) {
    page.replaceChildren(...groups.flatMap(([key, rows]) => {
      const items = element("ul", "", { class: key === "lines" ? "lines" : "entries", "data-group": key });
      for (const row of rows) {
        const item = element("li"), told = [row[3], row[4]];
        item.append(option(row, needles, {}));
        if (told[1]) item.append(element("p", told[1], { class: "snippet" }));
        if (told[0]) item.append(element("p", told[0], { class: "faint" }));
        items.append(item);
      }
      return [element("h2", said()[key]), items];
    }));
    if (!groups.length) page.append(element("p", said().none));
    tell(count);
  }

  function tell(count) {
    const text = count ? said().count.replace("{n}", count) : said().none;
    note.textContent = text;
    note.hidden = count > 0;
    aloud.textContent = text;
  }

  function show(open) {
    popup.hidden = !open;
    input.setAttribute("aria-expanded", String(open && list.childElementCount > 0));
    if (!open) input.removeAttribute("aria-activedescendant");
  }

  const address = () => `${form.getAttribute("action")}?q=${encodeURIComponent(words().slice(0, LONGEST))}`;

  function remember(query) {
    try { history.replaceState(null, "", query ? address() : location.pathname); } catch (error) { /* too often for this browser */ }
  }

  /* Find what the box holds now; an answer that comes after the next question is dropped. */
  async function ask() {
    const query = words(), mine = ++asked;
    if (page && !big) remember(query);
    if (!query || big && distkb.isLog(query)) { (page || list).replaceChildren(); show(false); return; }
    try {
      await start();
      const known = big && await distkb.text.settled(index, () => knownRows(query));
      if (page && !(known && known.length)) await Promise.all([`search-texts-${lang}.js`, ...big ? [] : [`messages-${lang}.js`]].map(distkb.asset).map(distkb.text.load));
      const groups = known && known.length ? [["lines", known]] : await distkb.text.settled(index, () => find(query));
      if (mine !== asked) return;
      const needles = needlesOf(query);
      (page ? report : suggest)(groups, needles, groups.reduce((sum, group) => sum + group[1].length, 0));
    } catch (error) {
      if (mine !== asked) return;
      list.replaceChildren();
      aloud.textContent = note.textContent = data.failed;
      note.hidden = false;
      show(true);
    }
  }

  function move(step) {
    const options = [...list.querySelectorAll("[role=option]")], chosen = list.querySelector("[aria-selected=true]");
    const next = options[(options.indexOf(chosen) + step + (chosen || step > 0 ? 0 : 1) + options.length) % options.length];
    if (!next) return;
    if (chosen) chosen.setAttribute("aria-selected", "false");
    next.setAttribute("aria-selected", "true");
    next.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", next.id);
  }

  input.addEventListener("focus", () => start().catch(() => {}));
  input.addEventListener("input", ask);
  input.addEventListener("paste", event => {
    const raw = event.clipboardData.getData("text"), flat = raw.replace(/[\r\n]+/g, " ");
    if (big || !/[\r\n]/.test(raw.trim())) return;
    event.preventDefault();
    const kept = [input.value.slice(0, input.selectionStart), input.value.slice(input.selectionEnd)];
    input.value = kept.join(flat);
    pasted = { flat: input.value, raw: kept.join(raw) };
    ask();
  });
  input.addEventListener("keydown", event => {
    /* Keys that finish a syllable belong to the input method. */
    if (event.isComposing || event.keyCode === 229) return;
    const chosen = list.querySelector("[aria-selected=true]");
    if (event.key === "Escape" && !popup.hidden) { event.preventDefault(); show(false); }
    else if (big) { if (event.key === "Enter" && !event.shiftKey && !/\n/.test(input.value.trim())) { event.preventDefault(); form.requestSubmit(); } }
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (popup.hidden) ask(); else move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && chosen && !popup.hidden) { event.preventDefault(); location.assign(chosen.href); }
  });
  /* Before site.js, which knows what the box shows, not what was pasted. */
  form.addEventListener("submit", event => {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (big && words()) lead().catch(() => location.assign(address()));
    else if (words() && !page) location.assign(address());
  }, true);

  /* The one box of the home page: a log leads to the diagnosis, a known line to its page, words to what they find. */
  async function lead() {
    const text = words();
    if (distkb.isLog(text)) return distkb.diagnose(text);
    await start();
    const [known] = await distkb.text.settled(index, () => distkb.text.knownLines(index, text));
    location.assign(known ? `${data.home}m/${known[0]}.html` : address());
  }
  form.addEventListener("focusout", event => { if (!form.contains(event.relatedTarget)) show(false); });
  const given = page && !input.value && new URLSearchParams(location.search).get("q");
  if (given) {
    input.value = given.replace(/[\r\n]+/g, " ");
    pasted = { flat: input.value, raw: given };
  }
  /* The reader may have typed while this was on its way. */
  if (input.value) ask(); else start().catch(() => {});
})();
