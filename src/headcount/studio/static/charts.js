// Draws the charts of a page with Vega, without evaluating code: its expressions are interpreted.
"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const slim = matchMedia("(max-width: 40rem)");
  const views = new Map();
  let scripts = null;

  // Vega is large, so only a page with a chart loads it, once.
  function vega() {
    scripts ??= document
      .querySelector("meta[name=studio-vega]")
      .content.split(" ")
      .reduce((before, address) => before.then(() => load(address)), Promise.resolve());
    return scripts;
  }

  function load(address) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = address;
      script.addEventListener("load", done);
      script.addEventListener("error", () => failed(new Error(`${address} did not load`)));
      document.head.append(script);
    });
  }

  function specOf(place) {
    const read = JSON.parse(place.dataset.spec);
    if (!("light" in read)) return read;
    const fitting = slim.matches && read.narrow ? read.narrow : read;
    return fitting[dark.matches && !paper.matches ? "dark" : "light"];
  }

  // Colours of what a description leaves open.
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const [ink, muted, line] = ["--ink", "--muted", "--line"].map((name) => style.getPropertyValue(name).trim());
    const font = getComputedStyle(document.body).fontFamily;
    const words = { labelColor: muted, titleColor: muted, labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12 };
    return {
      background: "transparent",
      axis: { ...words, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: "normal" },
      legend: { ...words, titleFontWeight: "normal" },
      title: { color: ink, font },
      text: { fill: ink, font },
    };
  }

  async function draw(place) {
    views.get(place)?.finalize();
    const spec = specOf(place);
    const { parse, View, expressionInterpreter, Warn } = window.vega;
    const view = new View(parse(spec, theme(), { ast: true }), {
      expr: expressionInterpreter,
      renderer: "canvas",
      container: place,
      hover: true,
      logLevel: Warn,
    });
    views.set(place, view);
    fit(view, place);
    await view.runAsync();
    place.dataset.drawn = "yes";
  }

  // A chart that has the signal "width" follows its place; autosize is up to the spec.
  function fit(view, place) {
    try {
      if (place.closest("[data-fixed]")) return;
      view.width(Math.max(240, place.clientWidth - (place.dataset.margin ? Number(place.dataset.margin) : 0)));
    } catch {
      // a chart that knows its width
    }
  }

  async function all(within = document) {
    const places = [...within.querySelectorAll("[data-vega]")];
    for (const [place, view] of views) {
      if (!place.isConnected) {
        view.finalize();
        views.delete(place);
      }
    }
    if (places.length) {
      await vega();
      await Promise.all(places.map(draw));
    }
    document.documentElement.dataset.charts = "drawn";
  }

  let resizing = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => {
      for (const [place, view] of views) {
        fit(view, place);
        view.runAsync();
      }
    });
  });
  dark.addEventListener("change", () => all());
  paper.addEventListener("change", () => all());
  slim.addEventListener("change", () => all());
  document.addEventListener("htmx:afterSettle", (event) => all(event.target));
  all();
})();
