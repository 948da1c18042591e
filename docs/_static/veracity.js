// Symbols that open something get names, which screen readers say: in the list of pages, and beside charts.
"use strict";
const nameSymbols = () => {
  for (const symbol of document.querySelectorAll("summary:not([aria-label])")) {
    if (!symbol.textContent.trim()) symbol.setAttribute("aria-label", symbol.closest("nav") ? "Pages below" : "Save the chart");
  }
};
new MutationObserver(nameSymbols).observe(document.documentElement, {childList: true, subtree: true});
