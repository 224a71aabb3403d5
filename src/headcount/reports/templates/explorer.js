// Turns the few rows that stand on the page into all rows: searched, sorted, and drawn only where they are in view.
const BEYOND = 10; // rows drawn above and below what is in view
const GROUPED = new Intl.NumberFormat("en-GB");
const BY_NAME = new Intl.Collator("en", { numeric: true });
const SIDE_BY_SIDE = "side by side";

const grouped = (number) => GROUPED.format(number).replace("-", "−");
const fold = (text) => (/^[\x00-\x7f]*$/.test(text) ? text : text.normalize("NFKD").replace(/\p{M}/gu, "")).toLowerCase();

async function unpack(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

class Explorer {
  constructor(place, data) {
    this.data = data;
    this.haystack = data.names.map((name, row) => fold(data.ids[row] === null ? name : `${name}\n${data.ids[row]}`));
    this.orders = new Map();
    this.query = "";
    this.build(place);
    this.choose(0);
    new ResizeObserver(() => this.resize()).observe(this.scroller);
  }

  build(place) {
    const { title, across, views } = this.data;
    this.search = make("input", { type: "search", placeholder: "Search", "aria-label": `Search: ${title}`, autocomplete: "off", spellcheck: "false" });
    this.search.addEventListener("input", () => this.find(this.search.value));
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.search.value) this.find((this.search.value = ""));
    });
    this.controls = make("div", { class: "controls" }, this.search);
    if (views.length > 1) {
      const names = [...views.map((view) => view.name), SIDE_BY_SIDE];
      this.select = make("select", {}, ...names.map((name, place) => make("option", { value: place }, name)));
      this.select.addEventListener("change", () => this.choose(Number(this.select.value)));
      this.controls.append(make("label", {}, `${across}: `, this.select));
    }
    const download = make("button", { type: "button" }, "Download these rows (CSV)");
    download.addEventListener("click", () => this.download());
    this.controls.append(download);
    this.status = make("p", { class: "note", role: "status" });
    this.head = make("tr", { "aria-rowindex": 1 });
    this.body = make("tbody");
    this.table = make("table", { "aria-label": title }, make("thead", {}, this.head), this.body);
    this.scroller = make("div", { class: "rows", tabindex: 0, role: "region", "aria-label": `${title}, rows` }, this.table);
    this.scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()));
    place.append(make("div", { class: "all" }, make("h3", {}, title), this.controls, this.status, this.scroller));
    place.classList.add("explored");
  }

  // The columns of a view: each has a title and a number for a row, or null.
  columnsOf(place) {
    const { views, per } = this.data;
    if (place === views.length) {
      return views.map((view) => ({ title: view.name, number: (row) => this.shown(view, row), rising: !view.count }));
    }
    const view = views[place];
    const ranks = view.rank ?? this.ranks(view);
    const columns = [{ title: "Rank", number: (row) => ranks[row], rising: true }];
    if (!view.count) return columns;
    const middle = (row) => (view.count[row] === null ? null : Math.round(view.count[row] / per));
    return [
      ...columns,
      { title: "Count", number: middle, exact: (row) => (view.count[row] === null ? null : view.count[row] / per) },
      { title: "Low", number: (row) => (view.count[row] === null ? null : middle(row) - view.below[row]) },
      { title: "High", number: (row) => (view.count[row] === null ? null : middle(row) + view.above[row]) },
    ];
  }

  shown(view, row) {
    const values = view.count ?? view.rank;
    return values[row] === null ? null : view.count ? Math.round(values[row] / this.data.per) : values[row];
  }

  // Rows come in the order of the first view, so equal counts stay in it.
  ranks(view) {
    const rows = [...view.count.keys()].filter((row) => view.count[row] !== null);
    rows.sort((one, other) => view.count[other] - view.count[one] || one - other);
    const ranks = new Array(view.count.length).fill(null);
    rows.forEach((row, place) => (ranks[row] = place + 1));
    return ranks;
  }

  choose(place) {
    this.place = place;
    this.view = this.data.views[place];
    this.columns = this.columnsOf(place);
    this.table.classList.toggle("wide", !this.view);
    this.table.style.setProperty("--columns", this.columns.length);
    const name = { title: "Item", rising: true };
    this.heads = this.view ? [this.columns[0], name, ...this.columns.slice(1)] : [name, ...this.columns];
    this.head.replaceChildren(...this.heads.map((column, at) => this.heading(column, at)));
    this.sort(this.view ? 0 : 1, this.columns[0].rising); // the best first
  }

  heading(column, at) {
    const button = make("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      this.sort(at, this.by === at ? !this.rising : column.rising);
    });
    return make("th", { scope: "col", class: column.number ? (column.title === "Rank" ? "rank" : "") : "text" }, button);
  }

  sort(at, rising = false) {
    this.by = at;
    this.rising = rising;
    [...this.head.children].forEach((head, place) => {
      if (place === at) head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    this.scroller.scrollTop = 0;
    this.find(this.query);
  }

  // All rows of the view in the order that is asked for; worked out once.
  order() {
    const key = `${this.place} ${this.by} ${this.rising}`;
    if (!this.orders.has(key)) this.orders.set(key, this.sorted(this.heads[this.by]));
    return this.orders.get(key);
  }

  sorted(column) {
    const sign = this.rising ? 1 : -1;
    const rows = [...this.data.names.keys()].filter((row) => !this.view || this.columns[0].number(row) !== null);
    if (!column.number) {
      const { names } = this.data;
      return rows.sort((one, other) => sign * BY_NAME.compare(names[one], names[other]) || one - other);
    }
    const numbers = Float64Array.from(this.data.names, (_, row) => (column.exact ?? column.number)(row) ?? NaN);
    return rows.sort((one, other) => {
      const absent = Number.isNaN(numbers[one]) - Number.isNaN(numbers[other]);
      return absent || sign * (numbers[one] - numbers[other]) || one - other;
    });
  }

  find(query) {
    this.query = query;
    const words = fold(query).split(/\s+/).filter(Boolean);
    const all = this.order();
    this.found = words.length ? all.filter((row) => words.every((word) => this.haystack[row].includes(word))) : all;
    const many = grouped(this.found.length);
    this.status.textContent = words.length ? `${many} of ${grouped(all.length)} match` : `${many} rows`;
    this.table.setAttribute("aria-rowcount", this.found.length + 1);
    if (words.length) this.scroller.scrollTop = 0;
    this.draw();
  }

  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    const height = (this.height ??= this.measured());
    const first = Math.max(0, Math.min(Math.floor(scrollTop / height), this.found.length) - BEYOND);
    const last = Math.min(this.found.length, Math.ceil((scrollTop + clientHeight) / height) + BEYOND);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(this.row(this.found[place], place));
    this.body.replaceChildren(this.space(first * height), ...rows, this.space((this.found.length - last) * height));
  }

  // In a narrow window rows are higher.
  resize() {
    const { scrollTop } = this.scroller;
    this.height = this.measured();
    this.draw();
    this.scroller.scrollTop = scrollTop;
    this.draw();
  }

  measured() {
    this.body.replaceChildren(this.row(0, 0));
    return this.body.firstChild.getBoundingClientRect().height || 40;
  }

  space(height) {
    const row = make("tr", { "aria-hidden": "true", class: "space" });
    row.style.height = `${height}px`;
    return row;
  }

  row(row, place) {
    const { names, ids, at_zero } = this.data;
    const name = make("div", {}, make("bdi", {}, names[row]));
    if (ids[row] !== null) name.append(" ", make("small", {}, make("bdi", {}, ids[row])));
    const counted = this.view?.count;
    const unclear = counted && counted[row] !== null && this.columns[2].number(row) <= 0;
    if (unclear) name.append(make("span", { class: "tag" }, at_zero));
    const head = make("th", { scope: "row", class: "text", title: ids[row] === null ? names[row] : `${names[row]} ${ids[row]}` }, name);
    const cells = this.heads.map((column) => (column.number ? make("td", {}, this.text(column.number(row))) : head));
    return make("tr", { "aria-rowindex": place + 2, class: unclear ? "faint" : "" }, ...cells);
  }

  text(number) {
    return number === null ? "" : grouped(number);
  }

  download() {
    const { names, ids, name, views } = this.data;
    const labelled = ids.some((id) => id !== null);
    const titles = this.columns.map((column) => (this.view ? column.title.toLowerCase() : column.title));
    const lines = this.found.map((row) => [
      ids[row] ?? names[row],
      ...(labelled ? [names[row]] : []),
      ...this.columns.map((column) => (column.exact ?? column.number)(row)),
    ]);
    const of = views.length > 1 ? `-${this.view ? this.view.name : SIDE_BY_SIDE}`.replace(/[^\p{L}\p{N}-]+/gu, "-") : "";
    offerCsv(`${name}${of}.csv`, [["item", ...(labelled ? ["label"] : []), ...titles], ...lines]);
  }
}

for (const place of document.querySelectorAll("[data-explorer]")) {
  try {
    new Explorer(place, await unpack(place.dataset.explorer));
    place.dataset.explored = "yes";
  } catch (error) {
    console.warn(error); // the few rows stay
  }
}
