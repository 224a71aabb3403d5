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

// Offers the rows behind a chart as a file, made here: nothing is fetched.
const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function offer(button) {
  const { data, datasets } = read(button.dataset.download);
  const rows = data.values ?? datasets[data.name];
  const names = [...new Set(rows.flatMap(Object.keys))];
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.map((line) => line.map(cell).join(",") + "\n").join("")], { type: "text/csv" }));
  link.download = button.dataset.file;
  link.click();
  URL.revokeObjectURL(link.href);
}

for (const button of document.querySelectorAll("[data-download]")) {
  button.addEventListener("click", () => offer(button));
}

dark.addEventListener("change", draw);
paper.addEventListener("change", draw);
await draw();
