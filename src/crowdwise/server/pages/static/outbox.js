// Answers that wait to be acknowledged. Each lies in localStorage under its own idempotency key before the next task is
// shown, and leaves only when the server has said that it is stored: a reload, a lost connection or a second send of the
// same key neither loses nor doubles it. One key an entry, so that two tabs cannot overwrite each other's.
export class Outbox {
  constructor(project, worker, kind = "waiting") {
    this.prefix = `crowdwise:${kind}:${project}:${worker}:`;
    this.memory = new Map();
    this.count = 0;
    this.kept = true;
  }

  add(entry) {
    const whole = { ...entry, order: Date.now() * 1000 + (this.count++ % 1000) };
    try {
      localStorage.setItem(this.prefix + entry.key, JSON.stringify(whole));
    } catch {
      this.kept = false;
      this.memory.set(entry.key, whole);
    }
  }

  remove(key) {
    this.memory.delete(key);
    try { localStorage.removeItem(this.prefix + key); } catch { /* then it is in memory only */ }
  }

  list() {
    const found = Array.from(this.memory.values());
    try {
      for (let i = 0; i < localStorage.length; i++) {
        const name = localStorage.key(i);
        if (!name.startsWith(this.prefix)) continue;
        try { found.push(JSON.parse(localStorage.getItem(name))); } catch { localStorage.removeItem(name); }
      }
    } catch { /* no storage: memory alone */ }
    return found.filter((entry) => entry && entry.key).sort((a, b) => a.order - b.order);
  }
}

export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Sends entries one after the other, oldest first, until none is left or the way is blocked; then says why and when to
// come back. `tell` gets {blocked: "" | "offline" | "busy" | "login" | "reload", left}.
export class Post {
  constructor(box, refused, address, token, tell, done) {
    Object.assign(this, { box, refused, address, token, tell, done, running: false, wait: 1, timer: 0 });
    addEventListener("online", () => this.hurry());
    addEventListener("offline", () => this.tell({ blocked: "offline", left: box.list().length }));
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.hurry(); });
  }

  hurry() {
    clearTimeout(this.timer);
    this.wait = 1;
    return this.run();
  }

  async run() {
    if (this.running) return;
    this.running = true;
    let blocked = "";
    try {
      for (let next = this.box.list()[0]; next && !blocked; next = this.box.list()[0]) {
        this.tell({ blocked: "", left: this.box.list().length });
        blocked = await this.one(next);
      }
    } finally {
      this.running = false;
    }
    this.tell({ blocked, left: this.box.list().length });
    if (blocked === "offline" || blocked === "busy") this.later();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), this.wait * 1000);
    this.wait = Math.min(this.wait * 2, 30);
  }

  async one(entry) {
    let answer;
    try {
      answer = await fetch(this.address, {
        method: "POST", credentials: "same-origin", body: JSON.stringify(entry), cache: "no-store",
        headers: { "Content-Type": "application/json", Accept: "application/json", "X-Form-Token": this.token },
      });
    } catch {
      return "offline";
    }
    if (answer.status === 429 || answer.status >= 500) {
      this.wait = Math.max(this.wait, Math.min(Number(answer.headers.get("Retry-After")) || 1, 60));
      return "busy";
    }
    if (answer.status === 401) return "login";
    let body = {};
    try { body = await answer.json(); } catch { if (answer.ok) return "offline"; }
    if (body.type === "/problems/form") return "reload";
    this.wait = 1;
    if (!answer.ok) this.refused.add({ ...entry, why: body.detail || body.title || `status ${answer.status}` });
    this.box.remove(entry.key);
    this.done(entry, answer.ok ? body : null);
    return "";
  }
}
