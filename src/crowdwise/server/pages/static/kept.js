// What the page holds, kept for a reload without a connection: the tasks in hand and their pictures, one worker's at a
// time. offline.js hands it out; whoever leaves, or is not known any more, leaves nothing.
const PREFIX = "crowdwise-kept:";
let over = false;
let last = Promise.resolve();

export function offlineToo(home, script) {
  if (!("serviceWorker" in navigator) || !("caches" in self)) return;
  // The page that is open came before its worker: it is fetched once more, so that it is there when it is needed.
  navigator.serviceWorker.addEventListener("controllerchange", () => {
    fetch(home, { headers: { Accept: "text/html" }, credentials: "same-origin", cache: "no-store" }).catch(() => {});
  });
  navigator.serviceWorker.register(script, { scope: home }).catch(() => { /* then a reload needs the connection */ });
}

export function remember(home, worker, tasks, today) {
  if (over || !("caches" in self)) return;
  const body = JSON.stringify({ worker, tasks: tasks.map(({ id, html }) => ({ id, html })), stopped: null, progress: { today } });
  const pictures = new Set(tasks.flatMap(({ html }) => Array.from(html.matchAll(/src="(\/media\/[^"]+)"/g), (found) => found[1])));
  last = last.then(() => (over ? null : write(home, body, pictures))).catch(() => { /* no room: then without */ });
}

async function write(home, body, pictures) {
  const cache = await caches.open(PREFIX + home);
  // A reload in the middle of writing may take the entry with it: then the one before is there.
  const before = await cache.match(`${home}/next`);
  if (before) await cache.put(`${home}/next?before`, before);
  await cache.put(`${home}/next`, new Response(body, { headers: { "Content-Type": "application/json" } }));
  const here = (await cache.keys()).map((request) => new URL(request.url).pathname).filter((path) => path.startsWith("/media/"));
  await Promise.all(here.filter((path) => !pictures.has(path)).map((path) => cache.delete(path)));
  await Promise.all(Array.from(pictures).filter((path) => !here.includes(path)).map((path) => cache.add(path).catch(() => {})));
}

export async function forget() {
  over = true;
  if (!("caches" in self)) return;
  await last;
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  await Promise.all(names.map((name) => caches.delete(name)));
}
