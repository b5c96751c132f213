// The annotator's page with scripts: answers go into the outbox and the next task, fetched ahead, is there at once.
// The markup of a task is the server's, the same as in the page; everything works without this file.
import { Outbox, Post, newKey } from "./outbox.js";
import { byArrow, byDigit, enhance } from "./controls.js";
import { forget, offlineToo, remember } from "./kept.js";

document.documentElement.classList.add("scripted");
const main = document.getElementById("main");
const { project, worker, token } = main.dataset;
const at = (name) => main.querySelector(`[data-${name}]`);
const form = at("form");
const place = at("place");
const home = `/p/${encodeURIComponent(project)}/annotate`;
// A second click of a double click falls on the next task, which nobody can have read: it is no answer.
const TOO_SOON = 350;
const AHEAD = 2;
let queue = [];
let past = [];
let shownAt = -TOO_SOON;
let since = performance.now();
let today = Number(document.querySelector("[data-today]").textContent) || 0;
let stopped = null;
let filling = false;
let again = 0;
let made = 0;

const box = new Outbox(project, worker);
const refused = new Outbox(project, worker, "refused");
const post = new Post(box, refused, `${home}/send`, token, tell, acknowledged);

const current = () => place.querySelector(".task");
const idOf = (task) => task && task.dataset.task;
const markup = new Map();
const hold = ({ id, html }) => { markup.set(id, html); return ready(parse(html)); };
const parse = (html) => new DOMParser().parseFromString(html, "text/html").querySelector(".task");

// ---- showing
function show(task) {
  place.replaceChildren(task);
  shownAt = since = performance.now();
  task.querySelector("#matter").focus({ preventScroll: true });
  scrollTo({ top: 0 });
  at("done").hidden = true;
  const skip = at("skip");
  if (skip) skip.hidden = false;
}

function advance() {
  const task = queue.shift();
  if (task) show(task);
  else {
    place.replaceChildren();
    if (at("skip")) at("skip").hidden = true;
    nothing();
  }
  keep();
  fill();
}

// What is in hand, for a reload without a connection.
function keep() {
  const held = [current(), ...queue].filter(Boolean).map(idOf).filter((id) => markup.has(id));
  for (const id of markup.keys()) if (!held.includes(id) && !past.some((task) => idOf(task) === id)) markup.delete(id);
  remember(worker, held.map((id) => ({ id, html: markup.get(id) })), today - unsent());
}

function nothing() {
  at("done").hidden = false;
  const offline = !navigator.onLine || at("offline").dataset.blocked === "offline";
  at("why").textContent = stopped ? stopped.reason || "Nothing is left to answer. Thank you."
    : offline ? "No task is left here until the connection is back." : "One moment…";
}

// ---- fetching ahead
async function fill() {
  clearTimeout(again);
  if (filling || queue.length >= AHEAD) return;
  filling = true;
  let wait = 0;
  try {
    const waiting = box.list().length;
    const before = made;
    // What is asked for may be old when it comes: an answer that leaves meanwhile is not asked for again.
    const asked = seen();
    const answer = await fetch(`${home}/next?n=${Math.min(AHEAD + 1 + waiting, 4)}`, {
      headers: { Accept: "application/json" }, credentials: "same-origin", cache: "no-store",
    });
    if (answer.ok) {
      const found = await answer.json();
      const kept = "worker" in found;  // from before the connection went, by kept.js
      if (kept && found.worker !== worker) found.tasks = [];
      const known = new Set([...asked, ...seen()]);
      for (const each of found.tasks) {
        if (!known.has(each.id)) queue.push(hold(each));
      }
      if (!kept) keep();
      stopped = found.stopped || null;
      // The server's count is the true one, unless an answer was on its way meanwhile.
      if (kept) count(found.progress.today + unsent());
      else if (before === made && !waiting && Number.isFinite(found.progress.today)) count(found.progress.today);
      if (!current() && !queue.length) wait = stopped && stopped.final ? 0 : 4;
    } else if (answer.status === 401) tell({ blocked: "login", left: box.list().length });
    else {
      const problem = await answer.json().catch(() => ({}));
      if (!current()) stopped = { reason: problem.detail || problem.title, final: false };
      wait = Math.max(Number(answer.headers.get("Retry-After")) || 0, 5);
    }
  } catch {
    wait = 5;
  } finally {
    filling = false;
  }
  if (!current()) { if (queue.length) advance(); else nothing(); }
  if (wait) again = setTimeout(fill, wait * 1000);
}

const seen = () => [idOf(current()), ...queue.map(idOf), ...box.list().map((entry) => entry.task)];

function ready(task) {
  enhance(task);
  return task;
}

const unsent = () => box.list().filter((entry) => entry.action === "answer").length;

function count(number) {
  today = Math.max(number, 0);
  document.querySelector("[data-today]").textContent = String(today);
}

// ---- answering
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const task = current();
  if (!task || performance.now() - shownAt < TOO_SOON) return;
  const fields = Array.from(new FormData(form, event.submitter)).filter(([name]) => name !== "csrf");
  put("answer", task, fields);
  past.push(task);
  past = past.slice(-20);
  count(today + 1);
  speak(`Answer kept. ${today} today.`);
  advance();
});

if (at("skip")) at("skip").addEventListener("submit", (event) => {
  event.preventDefault();
  const task = current();
  if (!task || performance.now() - shownAt < TOO_SOON) return;
  put("skip", task, []);
  speak("Skipped.");
  advance();
});

at("undo").addEventListener("submit", (event) => {
  event.preventDefault();
  const task = past.pop();
  const entry = { action: "undo", key: newKey(), task: idOf(task) || "", fields: [] };
  made += 1;
  box.add(entry);
  if (task) back(task);
  post.hurry();
});

function back(task) {
  // A new answer is a new answer: it needs a key of its own, and the old lease is spent.
  const key = task.querySelector("[name=key]").value = newKey();
  if (markup.has(idOf(task))) markup.set(idOf(task), markup.get(idOf(task)).replace(/(name="key" value=")[^"]*/, `$1${key}`));
  task.querySelector("[name=lease]").value = "";
  if (current() && idOf(current()) !== idOf(task)) queue.unshift(current());
  queue = queue.filter((other) => idOf(other) !== idOf(task));
  count(today - 1);
  show(task);
  keep();
  speak("Your last answer was taken back. This is the task again.");
}

function put(action, task, fields) {
  const key = action === "skip" ? newKey() : task.querySelector("[name=key]").value;
  const spent = Math.round(performance.now() - since);
  made += 1;
  box.add({ action, key, task: idOf(task), fields, client_ms: spent });
  post.hurry();
}

function acknowledged(entry, body) {
  if (entry.action === "undo") {
    if (body && body.shown && !entry.task) back(hold(body.shown));
    else if (body === null) { showRefused(); }
  } else if (body === null) showRefused();
  else if (body.status === "surplus") speak("Kept, but the task had enough answers already.");
  if (!box.list().length) fill();
}

// ---- telling
function speak(text) {
  at("tell").textContent = text;
}

function tell({ blocked, left }) {
  const note = at("offline");
  const answers = `${left} ${left === 1 ? "answer waits" : "answers wait"} here`;
  const words = {
    offline: left ? `You are offline. ${answers} and will be sent when the connection is back.` : "You are offline. Answers are kept here until the connection is back.",
    busy: `The server is busy. ${answers} and will be sent again soon.`,
    login: `You are logged out. ${answers} until you log in again.`,
    reload: `Somebody else logged in with this browser. ${answers}; reload the page.`,
  };
  const unsafe = box.kept ? "" : " This browser stores nothing: do not close the page before they are sent.";
  note.dataset.blocked = blocked;
  if (blocked === "login" || blocked === "reload") forget().catch(() => {});
  note.hidden = !blocked || (blocked === "offline" && !left && navigator.onLine);
  note.textContent = blocked ? words[blocked] + unsafe : "";
  if (blocked === "login") link(note, "Log in", `/login?next=${encodeURIComponent(home)}`);
  if (blocked === "reload") link(note, "Reload", home);
}

function link(note, text, where) {
  const made = document.createElement("a");
  made.href = where;
  made.textContent = text;
  note.append(" ", made);
}

function showRefused() {
  const all = refused.list();
  const note = at("refused");
  note.hidden = !all.length;
  if (!all.length) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  button.textContent = "Understood";
  button.addEventListener("click", () => { all.forEach((entry) => refused.remove(entry.key)); showRefused(); });
  note.replaceChildren(`${all.length === 1 ? "One answer was" : `${all.length} answers were`} not taken: ${all[all.length - 1].why} `, button);
}

// ---- keys
const keys = at("keys");
try { keys.checked = localStorage.getItem("crowdwise:keys") !== "off"; } catch { /* stays on */ }
keys.addEventListener("change", () => {
  try { localStorage.setItem("crowdwise:keys", keys.checked ? "on" : "off"); } catch { /* for this page only */ }
});

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !keys.checked) return;
  const target = event.target;
  if (target.matches("textarea, select, input:not([type=checkbox])")) return;
  const task = current();
  const key = event.key;
  const press = (name) => { const found = at(name); if (found && !found.hidden) found.requestSubmit(); return Boolean(found); };
  let used = false;
  if (key === "u" || key === "U" || key === "Backspace") used = press("undo");
  else if (!task) return;
  else if (/^[0-9]$/.test(key)) used = byDigit(task, key);
  else if (key.startsWith("Arrow")) used = byArrow(task, key);
  else if (key === "s" || key === "S") used = press("skip");
  else if (key === "Enter" && !target.closest("button, a, summary") && task.querySelector("[data-send]")) {
    form.requestSubmit(task.querySelector("[data-send]"));
    used = true;
  }
  if (used) event.preventDefault();
});

// ---- beginning: what was left over from before is sent first; a task that was answered already is not shown again
if (matchMedia("(max-width: 800px)").matches && at("guide")) at("guide").open = false;
const old = Boolean(main.dataset.kept);
if (old) place.replaceChildren();  // from before: what is in hand now comes with the next tasks
if (current()) {
  markup.set(idOf(current()), current().outerHTML);
  enhance(current());
}
if (!old) keep();
offlineToo(home, main.dataset.beside);
const left = new Set(box.list().map((entry) => entry.task));
count(today + unsent());
showRefused();
if (current() && left.has(idOf(current()))) advance(); else fill();
if (old) tell({ blocked: "offline", left: left.size });
post.run();
