// What the page holds, kept for a reload without a connection: the tasks in hand and their pictures, one worker's at a
// time. offline.js hands it out; whoever leaves, or is not known any more, leaves nothing.
const PREFIX = "crowdwise-kept:";
let over = false;
let keeper = null;
let latest = null;
let last = Promise.resolve();

export function offlineToo(home, script) {
  const workers = navigator.serviceWorker;
  if (!workers || !("caches" in self)) return;
  // The page that is open came before its worker: it is fetched once more, so that it is there when it is needed.
  workers.addEventListener("controllerchange", () => {
    keeper = workers.controller || keeper;
    fetch(home, { headers: { Accept: "text/html" }, credentials: "same-origin", cache: "no-store" }).catch(() => {});
  });
  workers.register(script, { scope: home }).then(() => workers.ready).then(({ active }) => {
    keeper = workers.controller || active;
    hand();
  }).catch(() => { /* then a reload needs the connection */ });
}

export function remember(worker, tasks, today) {
  const body = JSON.stringify({ worker, tasks: tasks.map(({ id, html }) => ({ id, html })), stopped: null, progress: { today } });
  const pictures = new Set(tasks.flatMap(({ html }) => Array.from(html.matchAll(/src="(\/media\/[^"]+)"/g), (found) => found[1])));
  latest = { body, pictures: Array.from(pictures) };
  hand();
}

// The service worker writes: a page that is loaded again in the middle of writing would take the entry with it.
function hand() {
  if (over || !keeper || !latest) return;
  const way = new MessageChannel();
  const written = new Promise((done) => {
    way.port1.onmessage = done;
    setTimeout(done, 2000);
  });
  keeper.postMessage(latest, [way.port2]);
  latest = null;
  last = Promise.all([last, written]);
}

export async function forget() {
  over = true;
  if (!("caches" in self)) return;
  await last;
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  await Promise.all(names.map((name) => caches.delete(name)));
}
