// Draws every chart of the page in the theme the reader prefers; on paper always in the light one.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const themes = read("themes");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const paper = window.matchMedia("print");

async function draw() {
  const config = themes[dark.matches && !paper.matches ? "dark" : "light"];
  const places = [...document.querySelectorAll("[data-chart]")];
  const options = { actions: false, renderer: "svg", tooltip: { theme: dark.matches ? "dark" : "light" } };
  await Promise.all(
    places.map((place) => window.vegaEmbed(place, { ...read(place.dataset.chart), config }, options)),
  );
  document.documentElement.dataset.charts = "drawn";
}

dark.addEventListener("change", draw);
paper.addEventListener("change", draw);
await draw();
