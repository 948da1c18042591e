"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const charts = read("charts"), themes = read("themes");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const places = [...document.querySelectorAll("[data-chart]")];

  // Widths follow the page, so that text keeps its size on a narrow screen.
  const fitted = (spec, room, first) => {
    const copy = structuredClone(spec);
    const wide = Math.min(room, first ? 860 : 680);
    if (copy.vconcat) {
      for (const part of copy.vconcat) part.width = Math.max(140, wide - (part.encoding || part.layer ? 62 : 0) - margin(part));
    } else {
      copy.width = wide;
      copy.autosize = { type: "fit-x", contains: "padding" };
    }
    return copy;
  };
  // Panels with names on their left need more room there than numbers do.
  const margin = (part) => {
    const layers = part.layer || [part];
    const y = layers.map((l) => l.encoding && l.encoding.y).find((e) => e && e.type === "nominal");
    return y ? 80 : 8;
  };

  const asked = new Set(), waiting = new Set();
  let drawing = false, drawnAt = 0;

  function draw(some) {
    drawnAt = document.documentElement.clientWidth;
    some.forEach((place) => asked.add(place));
    if (!drawing) drawAll();
  }

  async function drawAll() {
    drawing = true;
    document.body.removeAttribute("data-drawn");
    while (asked.size) {
      const [place] = asked;
      asked.delete(place);
      const folded = place.closest("details.part:not([open])");
      if (folded) { // drawn when it is opened, where its width is known
        if (!waiting.has(folded)) folded.addEventListener("toggle", () => opened(folded), { once: true });
        waiting.add(folded);
        continue;
      }
      const spec = fitted(charts[place.dataset.chart], place.clientWidth, place.closest(".first"));
      await vegaEmbed(place, spec, {
        renderer: "svg",
        ast: true, // expressions are interpreted: the policy of the page lets no text run as a program
        config: dark.matches ? themes.dark : themes.light,
        tooltip: { theme: dark.matches ? "dark" : "light" },
        actions: { export: true, source: false, compiled: false, editor: false },
      });
      if (place.closest(".first")) performance.mark("first screen"); // for the benchmark
      await new Promise((next) => setTimeout(next, 0));
    }
    drawing = false;
    document.body.dataset.drawn = String(places.length);
  }

  function opened(folded) {
    waiting.delete(folded);
    draw(folded.querySelectorAll("[data-chart]"));
  }

  dark.addEventListener("change", () => draw(places));
  let resized;
  addEventListener("resize", () => {
    if (matchMedia("print").matches || Math.abs(document.documentElement.clientWidth - drawnAt) < 8) return;
    clearTimeout(resized);
    resized = setTimeout(() => draw(places), 150);
  });
  draw(places);
})();
