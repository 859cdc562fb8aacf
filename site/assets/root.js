/* The root leads on: to the language that was chosen last, else to the first of the browser's that the site speaks. */
(function () {
  "use strict";
  var spoken = ["en", "ko"], chosen = null;
  try { chosen = localStorage.getItem("distkb-lang"); } catch (error) { /* storage is off */ }
  var wanted = [chosen].concat(navigator.languages || [navigator.language]).map(function (one) { return String(one).slice(0, 2); });
  var lang = wanted.find(function (one) { return spoken.includes(one); }) || "en";
  location.replace(lang + "/index.html" + location.search + location.hash);
})();
