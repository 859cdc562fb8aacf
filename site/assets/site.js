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

  document.querySelectorAll("pre.cmd").forEach(function (block) {
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
})();
