// Draws every chart of the page in the theme the reader prefers, on paper always in the light one, and as the window
// is wide or narrow.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const themes = read("themes");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const paper = window.matchMedia("print");
const slim = window.matchMedia("(max-width: 40rem)");

// Readers choose which lines the charts around a list of them show.
const ticked = (list) => [...list.querySelectorAll("input:checked")].map((box) => box.value);

function specOf(place) {
  const spec = read((slim.matches && place.dataset.narrow) || place.dataset.chart);
  const list = place.closest("[data-choosing]")?.querySelector("[data-lines]");
  if (list) spec.params.find((each) => each.name === "shown").value = ticked(list);
  return spec;
}

function limit(list) {
  const many = ticked(list).length;
  for (const box of list.querySelectorAll("input")) {
    box.disabled = box.checked ? many === 1 : many >= Number(list.dataset.lines);
  }
}

for (const list of document.querySelectorAll("[data-lines]")) {
  list.hidden = false;
  limit(list);
  list.addEventListener("change", () => {
    limit(list);
    draw(list.closest("[data-choosing]"));
  });
}

// What is folded away is drawn when it is opened: many charts at once would keep the reader waiting.
const shown = (place) => !place.closest("details.paper:not([open])");

async function draw(within = document) {
  const config = themes[dark.matches && !paper.matches ? "dark" : "light"];
  const places = [...within.querySelectorAll("[data-chart]")].filter(shown);
  const options = { actions: false, renderer: "svg", tooltip: { theme: dark.matches ? "dark" : "light" } };
  await Promise.all(
    places.map((place) => window.vegaEmbed(place, { ...specOf(place), config }, options)),
  );
}

const unfolded = new Map();
function unfold(part) {
  if (!unfolded.has(part)) unfolded.set(part, draw(part));
  return unfolded.get(part);
}

for (const part of document.querySelectorAll("details.paper")) {
  part.addEventListener("toggle", () => part.open && unfold(part));
}

// Charts move what is below them, so a link into a part that was folded away is followed once they are drawn.
async function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const part = target?.closest("details.paper");
  if (!part) return;
  part.open = true;
  await unfold(part);
  target.scrollIntoView();
}

// Offers the rows behind a chart as a file.
function offer(button) {
  const { data, datasets } = read(button.dataset.download);
  const rows = data.values ?? datasets[data.name];
  const names = [...new Set(rows.flatMap(Object.keys))];
  offerCsv(button.dataset.file, [names, ...rows.map((row) => names.map((name) => row[name]))]);
}

for (const button of document.querySelectorAll("[data-download]")) {
  button.addEventListener("click", () => offer(button));
}

function again() {
  unfolded.clear();
  return draw();
}

dark.addEventListener("change", again);
slim.addEventListener("change", again);
paper.addEventListener("change", () => {
  if (paper.matches) for (const part of document.querySelectorAll("details.paper")) part.open = true;
  again();
});
await draw();
window.addEventListener("hashchange", follow);
await follow();
document.documentElement.dataset.charts = "drawn";
