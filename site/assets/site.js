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

  document.querySelectorAll("pre.cmd, .guide pre").forEach(function (block) {
    if (!navigator.clipboard || !said) return;
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = said.dataset.copy;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(block.querySelector("code").textContent).then(function () {
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

  document.querySelectorAll("[data-filter]").forEach(function (list) {
    var input = document.createElement("input");
    var wrap = document.createElement("label");
    input.type = "search";
    wrap.className = "filter";
    wrap.textContent = list.dataset.filter + " ";
    wrap.append(input);
    list.before(wrap);
    var rows = Array.prototype.map.call(list.children, function (row) {
      return [row, row.textContent.toLowerCase()];
    });
    input.addEventListener("input", function () {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach(function (pair) {
        pair[0].hidden = !words.every(function (word) { return pair[1].includes(word); });
      });
    });
  });

  /* The search: what it takes is loaded when its box is first used, or when the address holds words. */
  var box = document.querySelector("form.search");
  if (box) {
    var fetchSearch = function () {
      if (document.querySelector("script[data-search]")) return;
      var script = document.createElement("script");
      script.src = box.dataset.search;
      script.dataset.search = "";
      script.onerror = function () { script.remove(); };
      document.head.append(script);
    };
    box.elements.q.addEventListener("focus", fetchSearch);
    box.addEventListener("submit", function (event) {
      event.preventDefault();
      if (box.elements.q.value) location.assign(box.getAttribute("action") + "?q=" + encodeURIComponent(box.elements.q.value));
    });
    document.addEventListener("keydown", function (event) {
      var typing = event.target.closest && event.target.closest("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || typing || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
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
