// The lead's page follows the server's events: each says that something changed, and the parts that changed are fetched
// as the server draws them. Without this file the page is the same, as of the moment it was loaded.
document.documentElement.classList.add("scripted");
const main = document.getElementById("main");
const project = encodeURIComponent(main.dataset.project);
const line = document.querySelector("[data-live]");
const state = document.querySelector("[data-state]");
const EVERY = 1500;
const AGAIN = 5000;
let last = 0;
let planned = 0;
let drawn = {};

function say(on, text) {
  line.classList.toggle("on", on);
  line.classList.toggle("off", !on);
  state.textContent = text;
}

// New markup for a part; what is open stays open, and who is at a button stays at it.
function replace(name, html) {
  const part = document.querySelector(`[data-part="${name}"]`);
  if (drawn[name] === html) return;
  drawn[name] = html;
  const held = part.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : "";
  const open = new Set(Array.from(part.querySelectorAll("details[open][id]"), (each) => each.id));
  const scrolled = part.querySelector(".scroll")?.scrollTop || 0;
  part.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  for (const each of part.querySelectorAll("details[id]")) if (open.has(each.id)) each.open = true;
  if (part.querySelector(".scroll")) part.querySelector(".scroll").scrollTop = scrolled;
  if (held) document.getElementById(held)?.focus({ preventScroll: true });
}

async function look() {
  planned = 0;
  last = Date.now();
  try {
    const answer = await fetch(`/p/${project}/lead/live`, { headers: { Accept: "application/json" }, cache: "no-store" });
    if (answer.status === 401) return say(false, "You are logged out; reload the page.");
    if (!answer.ok) return say(false, "The server is busy; trying again.");
    const parts = await answer.json();
    for (const name of Object.keys(parts)) replace(name, parts[name]);
    say(true, `Live, as of ${new Date().toLocaleTimeString()}.`);
  } catch {
    say(false, "No connection; trying again.");
  }
}

function soon() {
  if (!planned && !document.hidden) planned = setTimeout(look, Math.max(0, last + EVERY - Date.now()));
}

function listen() {
  const events = new EventSource(`/projects/${project}/events`);
  for (const kind of ["status", "label", "worker", "stop", "message"]) events.addEventListener(kind, soon);
  events.addEventListener("open", () => { say(true, "Live."); soon(); });
  events.addEventListener("error", () => {
    say(false, "No connection; trying again.");
    // The browser comes back by itself after a lost connection, but not after a refusal.
    if (events.readyState === EventSource.CLOSED) setTimeout(() => { soon(); listen(); }, AGAIN);
  });
}
listen();
document.addEventListener("visibilitychange", soon);

const copy = document.querySelector("[data-copy]");
if (copy) copy.addEventListener("click", async () => {
  const field = document.querySelector("[data-invite]");
  field.select();
  try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand("copy"); }
  copy.textContent = "Copied";
});
