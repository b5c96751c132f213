// The service worker of the annotator's page. The network always comes first; without it the page as it was last loaded,
// our own files and the tasks that the page holds are there, so that a reload loses neither the page nor what waits to be
// sent. Nothing is kept for whom the server does not know any more.
const HOME = new URL(self.registration.scope).pathname;
const KEPT = `crowdwise-kept:${HOME}`;
const FILES = new URL(".", self.location).pathname;
const OURS = `crowdwise-files:${FILES}`;
const NAMES = ["annotate.js", "controls.js", "icon.svg", "kept.js", "leave.js", "outbox.js", "pages.css", "report.css", "spans.js"];

self.addEventListener("install", (event) => {
  const fill = caches.open(OURS).then((cache) => cache.addAll(NAMES.map((name) => FILES + name)));
  event.waitUntil(fill.then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith("crowdwise-files:") && name !== OURS);
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith(FILES)) event.respondWith(file(request));
  else if (url.pathname === HOME) event.respondWith(page(request));
  else if (url.pathname === `${HOME}/next`) event.respondWith(orKept(request, url.pathname));
  else if (url.pathname.startsWith("/media/")) event.respondWith(orKept(request, url.pathname));
});

// What the page has in hand, one after the other; the page hears when it is written.
let writing = Promise.resolve();
self.addEventListener("message", (event) => {
  writing = writing.then(() => keep(event.data)).catch(() => { /* no room: then without */ }).then(() => event.ports[0].postMessage(""));
  event.waitUntil(writing);
});

async function keep({ body, pictures }) {
  const cache = await caches.open(KEPT);
  await cache.put(`${HOME}/next`, new Response(body, { headers: { "Content-Type": "application/json" } }));
  const here = (await cache.keys()).map((request) => new URL(request.url).pathname).filter((path) => path.startsWith("/media/"));
  await Promise.all(here.filter((path) => !pictures.includes(path)).map((path) => cache.delete(path)));
  await Promise.all(pictures.filter((path) => !here.includes(path)).map((path) => cache.add(path).catch(() => {})));
}

// Another content has another address: what is here is what the server would send.
async function file(request) {
  return (await caches.match(request, { cacheName: OURS })) || fetch(request);
}

async function page(request) {
  let answer;
  try {
    answer = await fetch(request);
  } catch {
    const found = await caches.match(HOME, { cacheName: KEPT });
    if (!found) return Response.error();
    // The page must know that the task in it is an old one.
    const text = (await found.text()).replace('<main id="main"', '<main id="main" data-kept="yes"');
    return new Response(text, { headers: found.headers });
  }
  if (gone(answer)) await caches.delete(KEPT);
  else if (answer.ok) {
    const copy = answer.clone();
    await caches.open(KEPT).then((cache) => cache.put(HOME, copy)).catch(() => { /* no room: then without */ });
  }
  return answer;
}

async function orKept(request, path) {
  try {
    const answer = await fetch(request);
    if (gone(answer)) await caches.delete(KEPT);
    return answer;
  } catch {
    return (await caches.match(path, { cacheName: KEPT })) || Response.error();
  }
}

// Nobody whom the server knows: a refusal, or the way to the login page.
function gone(answer) {
  return answer.type === "opaqueredirect" || answer.redirected || answer.status === 401 || answer.status === 403;
}
