/* Before anything is painted: the theme that was chosen last, if one was, and that scripts run. */
(function () {
  document.documentElement.classList.add("scripted");
  try {
    var chosen = localStorage.getItem("distkb-theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch (error) { /* storage is off: the system's theme holds */ }
})();
