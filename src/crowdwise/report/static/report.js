"use strict";
// Everything on the page is there without this script; it adds sorting, filtering, the click on a pair, plain CSV.
// Text from the data enters the document only through textContent.
document.documentElement.classList.add("scripted");

function make(tag, text, kind) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  return node;
}

// ---- tables: click a heading to sort
function valueOf(cell) {
  const raw = cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent.trim();
  const number = Number(raw.replace(/[,%<>\s]/g, ""));
  return raw === "" || Number.isNaN(number) ? raw : number;
}

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
    if (heading.querySelector(".hidden")) return;
    const button = make("button", heading.textContent);
    button.type = "button";
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const falling = heading.getAttribute("aria-sort") === "ascending"
        || (!heading.hasAttribute("aria-sort") && heading.classList.contains("n"));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const rows = Array.from(body.rows, (row) => [valueOf(row.cells[column]), row]);
      rows.sort((a, b) => (falling ? compare(b[0], a[0]) : compare(a[0], b[0])));
      body.append(...rows.map((pair) => pair[1]));
    });
  });
}

// ---- the filter above the workers
for (const input of document.querySelectorAll("[data-filter]")) {
  const table = document.querySelector(`table[data-table="${input.dataset.filter}"]`);
  const told = document.querySelector(`[data-count="${input.dataset.filter}"]`);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let seen = 0;
    for (const row of table.tBodies[0].rows) {
      const text = `${row.cells[0].textContent} ${row.cells[row.cells.length - 1].textContent}`.toLowerCase();
      row.hidden = !text.includes(wanted);
      seen += row.hidden ? 0 : 1;
    }
    told.textContent = wanted ? `${seen} of ${table.tBodies[0].rows.length}` : "";
  });
}

// ---- pairs: the tasks behind a cell of the map
const data = JSON.parse(document.querySelector('script[data-block="pairs"]').textContent);
const panel = document.querySelector("[data-pair]");
if (panel && data.workers) {
  const picks = ["first", "second"].map((name) => document.querySelector(`[data-pick="${name}"]`));
  const cells = document.querySelectorAll("rect[data-i]");
  picks.forEach((select, which) => {
    data.workers.forEach((name, i) => {
      const option = make("option", name);
      option.value = String(i);
      select.append(option);
    });
    select.selectedIndex = which;
    select.addEventListener("change", () => show(picks[0].selectedIndex, picks[1].selectedIndex));
  });

  function show(a, b) {
    const [i, j] = a > b ? [a, b] : [b, a];
    for (const cell of cells) {
      cell.classList.toggle("chosen", Number(cell.dataset.i) === i && Number(cell.dataset.j) === j);
    }
    const found = data.pairs[`${i},${j}`];
    if (a === b || !found) {
      panel.replaceChildren(make("p", a === b ? "Choose two different workers." : "They have fewer than five tasks in common."));
      return;
    }
    const [common, agree, rows] = found;
    const differ = common - agree;
    const shown = rows.length < differ ? `; the ${rows.length} of which the crowd is surest` : "";
    panel.replaceChildren(make("p", `They agree on ${agree} of ${common} common tasks and differ on ${differ}${shown}.`));
    // The data name the later worker on the map first; the table keeps the order of the choice.
    const turned = rows.map(([task, mine, theirs]) => (i === a ? [task, mine, theirs] : [task, theirs, mine]));
    if (rows.length) panel.append(tableOf(a, b, turned));
  }

  function tableOf(a, b, rows) {
    const table = make("table");
    const head = table.createTHead().insertRow();
    for (const name of ["Task", data.workers[a], data.workers[b], "Estimate"]) {
      const cell = make("th");
      cell.scope = "col";
      cell.append(make("bdi", name));
      head.append(cell);
    }
    const body = table.createTBody();
    for (const [task, mine, theirs] of rows) {
      const [name, label, sure] = data.tasks[task];
      const row = body.insertRow();
      const first = make("th");
      first.scope = "row";
      first.append(make("bdi", name));
      row.append(first);
      for (const code of [mine, theirs]) {
        const cell = make("td", undefined, code === label ? "" : "off");
        cell.append(make("bdi", data.classes[code]));
        row.append(cell);
      }
      const crowd = make("td");
      crowd.append(make("bdi", data.classes[label]), " ", make("small", sure));
      row.append(crowd);
    }
    return table;
  }

  for (const cell of cells) {
    cell.addEventListener("click", () => {
      picks[0].selectedIndex = Number(cell.dataset.i);
      picks[1].selectedIndex = Number(cell.dataset.j);
      show(picks[0].selectedIndex, picks[1].selectedIndex);
    });
  }
}

// ---- downloads: unpacked where the browser can
if (typeof DecompressionStream === "function") {
  for (const link of document.querySelectorAll("a[data-name]")) {
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      const packed = Uint8Array.from(atob(link.href.slice(link.href.indexOf(",") + 1)), (c) => c.charCodeAt(0));
      const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const file = URL.createObjectURL(await new Response(plain, { headers: { "Content-Type": "text/csv" } }).blob());
      const once = make("a");
      once.href = file;
      once.download = link.dataset.name;
      once.click();
      setTimeout(() => URL.revokeObjectURL(file), 10000);
    });
  }
}

// On paper everything that can be opened is open.
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("section > details, .least details")) each.open = true;
});
