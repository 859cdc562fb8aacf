/* What needs a script: copying, the theme, the language switch that keeps its place, filters of long lists. */
(function () {
  "use strict";
  var root = document.documentElement;
  var said = document.querySelector(".said");

  function store(key, value) {
    try { localStorage.setItem(key, value); } catch (error) { /* storage is off */ }
  }

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  var toggle = document.querySelector("button.theme");
  if (toggle) {
    var label = function () { toggle.textContent = isDark() ? toggle.dataset.light : toggle.dataset.dark; };
    toggle.hidden = false;
    label();
    toggle.addEventListener("click", function () {
      root.dataset.theme = isDark() ? "light" : "dark";
      store("distkb-theme", root.dataset.theme);
      label();
    });
  }

  document.querySelectorAll("a.lang").forEach(function (link) {
    link.addEventListener("click", function () {
      link.hash = location.hash;
      link.search = location.search;
      store("distkb-lang", link.hreflang);
    });
  });

  /* Copy a text; where the page may not use the clipboard (no secure context) the old way does. */
  function copied(text) {
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
    return new Promise(function (done, failed) {
      var area = document.createElement("textarea"), back = document.activeElement;
      area.value = text;
      area.className = "said";
      area.setAttribute("aria-hidden", "true");
      document.body.append(area);
      area.select();
      var fine = document.execCommand("copy");
      area.remove();
      if (back) back.focus({ preventScroll: true });
      if (fine) done(); else failed(new Error("copy"));
    });
  }
  var distkb = window.distkb = window.distkb || {};
  distkb.copied = copied;

  /* Return the address of a script by its plain name: all of them stand beside this one. */
  var folder = document.currentScript.src.replace(/[^/]*$/, "");
  distkb.asset = function (name) { return folder + distkb.assets[name]; };

  /* What a block gives to copy: of a change of code what comes and stays, without its signs. */
  function textOf(block) {
    var code = block.querySelector("code");
    if (!block.matches(".diff")) return code.textContent;
    return code.textContent.split("\n").filter(function (line) { return line[0] !== "-"; })
      .map(function (line) { return line.replace(/^[+ ]/, ""); }).join("\n");
  }

  document.querySelectorAll("pre.cmd, pre.diff, pre.log, .guide pre").forEach(function (block) {
    if (!said || block.closest(".answer")) return;
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = said.dataset.copy;
    button.addEventListener("click", function () {
      copied(textOf(block)).then(function () {
        said.textContent = said.dataset.copied;
        button.textContent = said.dataset.copied;
        setTimeout(function () { button.textContent = said.dataset.copy; said.textContent = ""; }, 2000);
      });
    });
    var frame = document.createElement("div");
    frame.className = "frame";
    block.replaceWith(frame);
    frame.append(block, button);
  });

  /* Addresses of before: `#b-1` is `#D21.b.1` now. */
  var former = /^#([a-z])(?:-(\d+))?$/.exec(location.hash), entry = document.querySelector("article.entry h1 .id");
  if (former && entry && !document.getElementById(location.hash.slice(1))) {
    location.replace("#" + [entry.textContent, former[1]].concat(former[2] || []).join("."));
  }

  /* The menu of a narrow window closes with Escape. The contents stand open where there is room beside the text, and
     say which part is being read. */
  document.querySelectorAll(".menu").forEach(function (menu) {
    menu.addEventListener("keydown", function (event) {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.firstElementChild.focus();
    });
  });

  document.querySelectorAll(".side details").forEach(function (side) {
    side.open = matchMedia("(min-width: 64rem)").matches;
    var links = Array.prototype.slice.call(side.querySelectorAll("a[href^='#']"));
    var parts = links.map(function (link) { return document.getElementById(decodeURIComponent(link.hash.slice(1))); });
    var mark = function () {
      var reading = -1;
      parts.forEach(function (part, index) {
        if (part && part.getBoundingClientRect().top < innerHeight / 3) reading = index;
      });
      links.forEach(function (link, index) {
        if (index === reading) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
    };
    var waiting = false;
    addEventListener("scroll", function () {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(function () { waiting = false; mark(); });
    }, { passive: true });
  });

  /* What is typed into a filter stands in the address, so that it can be sent on. */
  function remember(query) {
    try { history.replaceState(null, "", (query ? "?filter=" + encodeURIComponent(query) : location.pathname) + location.hash); }
    catch (error) { /* a file opened from disk may keep its address */ }
  }

  /* A field that narrows: `narrow` gets the words and answers with how many are left; the number is said. */
  function filterField(before, label, count, none, narrow) {
    var input = document.createElement("input"), wrap = document.createElement("label");
    var state = document.createElement("p");
    input.type = "search";
    wrap.className = "filter";
    wrap.textContent = label + " ";
    wrap.append(input);
    state.className = "faint";
    state.setAttribute("role", "status");
    before.before(wrap, state);
    var run = function () {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      Promise.resolve(narrow(words)).then(function (left) {
        state.textContent = !words.length ? "" : left ? count.replace("{n}", left) : none;
      });
    };
    input.addEventListener("input", function () { remember(input.value.trim()); run(); });
    input.value = new URLSearchParams(location.search).get("filter") || "";
    if (input.value) run();
  }

  function holds(text) {
    return function (word) { return text.includes(word); };
  }

  document.querySelectorAll("[data-filter]").forEach(function (list) {
    var rows = Array.prototype.map.call(list.children, function (row) {
      return [row, row.textContent.toLowerCase()];
    });
    filterField(list, list.dataset.filter, list.dataset.count, list.dataset.none, function (words) {
      return rows.filter(function (pair) {
        var fits = words.every(holds(pair[1]));
        pair[0].hidden = !fits;
        return fits;
      }).length;
    });
  });

  /* The filter of the index of messages goes over all of its pages: their lines come with a script. */
  var over = document.querySelector("[data-over]");
  if (over) {
    var rest = Array.prototype.slice.call(document.querySelectorAll(".places, .places ~ *"));
    var every = null;
    var rowOf = function (one) {
      var row = document.createElement("li"), link = document.createElement("a"), means = document.createElement("p");
      link.href = over.dataset.home + one[0] + ".html";
      link.textContent = one[1];
      link.translate = false;
      means.textContent = one[2];
      row.append(link, means);
      return row;
    };
    filterField(over, over.dataset.label, over.dataset.count, over.dataset.none, function (words) {
      every = every || new Promise(function (done) {
        var script = document.createElement("script");
        script.src = distkb.asset("messages-" + root.lang + ".js");
        script.onload = function () {
          done(distkb.messages.map(function (one) { return [one, one.join(" ").toLowerCase()]; }));
        };
        document.head.append(script);
      });
      return every.then(function (rows) {
        var left = words.length ? rows.filter(function (pair) { return words.every(holds(pair[1])); }) : [];
        var list = document.createElement("ul");
        list.className = "rows lines";
        list.append.apply(list, left.map(function (pair) { return rowOf(pair[0]); }));
        over.replaceChildren.apply(over, left.length ? [list] : []);
        rest.forEach(function (part) { part.hidden = words.length > 0; });
        return left.length;
      });
    });
  }

  /* The search: what it takes is loaded when its box is first used, or when the address holds words. */
  var box = document.querySelector("form.search");
  if (box && box.elements.q.type === "text") {
    var typed = {
      role: "combobox", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list",
      "aria-keyshortcuts": "/ Control+K Meta+K", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      enterkeyhint: "search"
    };
    for (var name in typed) box.elements.q.setAttribute(name, typed[name]);
    var popup = document.createElement("div"), found = document.createElement("div"), told = document.createElement("p");
    popup.className = "found";
    popup.hidden = told.hidden = true;
    told.className = "faint";
    found.id = "found";
    found.setAttribute("role", "listbox");
    found.setAttribute("aria-label", box.dataset.found);
    popup.append(found, told);
    box.append(popup);
  }
  if (box) {
    var fetchSearch = function () {
      if (document.querySelector("script[data-search]")) return;
      var script = document.createElement("script");
      script.src = distkb.asset("search.js");
      script.dataset.search = "";
      script.onerror = function () { script.remove(); };
      document.head.append(script);
    };
    box.elements.q.addEventListener("focus", fetchSearch);

    /* A log is handed over to the diagnosis, where the site has the program for it; it stays in this tab. */
    distkb.isLog = function (text) {
      if (!("diagnosis" in box.dataset)) return false;
      var lines = text.split(/[\r\n]+/).filter(function (line) { return line.trim(); });
      var ranks = new Set(text.match(/\[(?:rank|default)\s*\d+\]|\brank[ =:]?\d+/gi) || []);
      return lines.length > 3 || (ranks.size > 1 && lines.length > 1);
    };
    distkb.diagnose = function (text) {
      try { sessionStorage.setItem("distkb-paste", text); } catch (error) { /* storage is off: the page opens empty */ }
      location.assign(box.dataset.home + "diagnose.html");
    };
    box.querySelectorAll("[data-example]").forEach(function (chip) {
      chip.addEventListener("click", function () {
        box.elements.q.value = chip.dataset.example;
        box.elements.q.focus();
        box.elements.q.dispatchEvent(new Event("input"));
      });
    });
    box.querySelectorAll("[data-diagnose]").forEach(function (button) {
      button.addEventListener("click", function () { distkb.diagnose(box.elements.q.value); });
    });
    box.addEventListener("submit", function (event) {
      event.preventDefault();
      if (distkb.isLog(box.elements.q.value)) distkb.diagnose(box.elements.q.value);
      else if (box.elements.q.value) location.assign(box.getAttribute("action") + "?q=" + encodeURIComponent(box.elements.q.value));
    });
    document.addEventListener("keydown", function (event) {
      var typing = event.target.closest && event.target.closest("input, textarea, select, [contenteditable]");
      var plain = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey;
      var chord = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      if (event.isComposing || event.altKey || !(plain || chord)) return;
      event.preventDefault();
      box.elements.q.focus();
      box.elements.q.select();
    });
    if (document.querySelector(".results") && location.search) fetchSearch();
  }
  /* Buttons that narrow the index by symptom; what is chosen stands in the address, so that it can be sent on. */
  var facets = document.querySelector(".facets");
  if (facets) {
    var buttons = Array.prototype.slice.call(facets.querySelectorAll("button"));
    var counted = document.querySelector(".facets-count");
    var chosen = new URLSearchParams(location.search);
    var narrow = function () {
      var seen = new Set();
      document.querySelectorAll("[data-symptom]").forEach(function (section) {
        var any = false;
        section.querySelectorAll("li").forEach(function (row) {
          var fits = Array.from(chosen.entries()).every(function (pair) {
            var given = pair[0] === "symptom" ? section.dataset.symptom : row.dataset[pair[0]];
            return given === undefined || given.split(" ").includes(pair[1]);
          });
          row.hidden = !fits;
          any = any || fits;
          if (fits) seen.add(row.firstChild.href);
        });
        section.hidden = !any;
      });
      buttons.forEach(function (button) {
        button.setAttribute("aria-pressed", String(chosen.get(button.dataset.facet) === button.dataset.value));
      });
      counted.textContent = facets.dataset.count.replace("{n}", seen.size);
      counted.hidden = !buttons.some(function (button) { return button.getAttribute("aria-pressed") === "true"; });
      facets.open = facets.open || !counted.hidden;
    };
    facets.hidden = false;
    facets.addEventListener("click", function (event) {
      var button = event.target.closest("button");
      if (!button) return;
      if (chosen.get(button.dataset.facet) === button.dataset.value) chosen.delete(button.dataset.facet);
      else chosen.set(button.dataset.facet, button.dataset.value);
      var query = chosen.toString();
      try { history.replaceState(null, "", (query ? "?" + query : location.pathname) + location.hash); }
      catch (error) { /* a file opened from disk keeps its address */ }
      narrow();
    });
    narrow();
  }
})();
