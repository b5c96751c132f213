// Spans of a text: select, choose a tag. Places are counted in code points of the text as the server has it.
export function enhanceSpans(task) {
  const area = task.querySelector("[data-spans]");
  const text = area.dataset.text;
  const points = Array.from(text);
  const note = task.querySelector("[data-span-note]");
  const hand = task.querySelector("[data-by-hand]");
  const body = hand.querySelector("tbody");
  const pattern = body.querySelector("[data-row]").cloneNode(true);
  let spans = [];
  let word = null; // chosen by keyboard: [start, end) in code points
  area.tabIndex = 0;
  area.setAttribute("role", "textbox");
  area.setAttribute("aria-readonly", "true");
  area.setAttribute("aria-multiline", "true");
  area.setAttribute("aria-label", "The text; arrows choose a word, Shift widens");
  hand.hidden = true;

  function draw() {
    const cuts = Array.from(new Set([0, points.length, ...spans.flatMap((s) => [s.start, s.end])])).sort((a, b) => a - b);
    const pieces = [];
    for (let i = 0; i + 1 < cuts.length; i++) {
      const part = points.slice(cuts[i], cuts[i + 1]).join("");
      const over = spans.filter((s) => s.start <= cuts[i] && s.end >= cuts[i + 1]);
      if (!over.length) { pieces.push(document.createTextNode(part)); continue; }
      const mark = document.createElement("mark");
      mark.className = `span t${over[over.length - 1].shade}`;
      mark.textContent = part;
      pieces.push(mark);
    }
    area.replaceChildren(...pieces);
    body.replaceChildren(...spans.map(row));
    list();
  }

  function row(span) {
    const made = pattern.cloneNode(true);
    made.querySelector("[name=start]").value = String(span.start);
    made.querySelector("[name=end]").value = String(span.end);
    made.querySelector("[name=tag]").value = span.tag;
    return made;
  }

  function list() {
    task.querySelector("[data-found]").replaceChildren(...spans.map((span) => {
      const item = document.createElement("li");
      const tag = document.createElement("b");
      tag.className = `t${span.shade}`;
      tag.textContent = span.tag;
      const said = document.createElement("bdi");
      said.textContent = points.slice(span.start, span.end).join("").slice(0, 80);
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      button.textContent = "Remove";
      button.setAttribute("aria-label", `Remove ${span.tag}: ${said.textContent}`);
      button.addEventListener("click", () => { spans = spans.filter((other) => other !== span); draw(); area.focus(); });
      item.append(tag, " ", said, " ", button);
      return item;
    }));
  }

  // The selection in code points: what lies before its ends, read off the document itself.
  function selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!area.contains(range.startContainer) || !area.contains(range.endContainer)) return null;
    const before = document.createRange();
    before.selectNodeContents(area);
    before.setEnd(range.startContainer, range.startOffset);
    const start = Array.from(before.toString()).length;
    let found = { start, end: start + Array.from(range.toString()).length };
    while (found.start < found.end && /\s/u.test(points[found.start])) found.start += 1;
    while (found.end > found.start && /\s/u.test(points[found.end - 1])) found.end -= 1;
    return found.start < found.end ? found : null;
  }

  function select(start, end) {
    const range = document.createRange();
    const at = (place) => {
      let left = points.slice(0, place).join("").length;
      const walker = document.createTreeWalker(area, NodeFilter.SHOW_TEXT);
      let node = walker.nextNode();
      while (node && left > node.length) { left -= node.length; node = walker.nextNode(); }
      return node ? [node, left] : [area, 0];
    };
    range.setStart(...at(start));
    range.setEnd(...at(end));
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }

  area.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const words = wordsOf(points);
    if (!words.length) return;
    if (!word) word = { from: step > 0 ? 0 : words.length - 1, to: step > 0 ? 0 : words.length - 1 };
    else {
      word.to = Math.min(Math.max(word.to + step, 0), words.length - 1);
      if (!event.shiftKey) word.from = word.to;
    }
    const [first, last] = [Math.min(word.from, word.to), Math.max(word.from, word.to)];
    select(words[first][0], words[last][1]);
  });

  task.querySelector("[data-tags]").addEventListener("mousedown", (event) => event.preventDefault()); // keep the selection
  task.querySelector("[data-tags]").addEventListener("click", (event) => {
    const button = event.target.closest("[data-tag]");
    if (!button) return;
    const found = selected();
    note.hidden = Boolean(found);
    if (!found) { note.textContent = "Select some of the text first."; return; }
    const tags = Array.from(task.querySelectorAll("[data-tag]"));
    const tag = button.dataset.tag;
    if (!spans.some((s) => s.start === found.start && s.end === found.end && s.tag === tag)) {
      spans.push({ ...found, tag, shade: tags.indexOf(button) % 6 });
    }
    spans.sort((a, b) => a.start - b.start || a.end - b.end);
    getSelection().removeAllRanges();
    draw();
  });
  draw();
}

function wordsOf(points) {
  const words = [];
  for (let i = 0; i < points.length; i++) {
    if (/\s/u.test(points[i])) continue;
    const start = i;
    while (i < points.length && !/\s/u.test(points[i])) i += 1;
    words.push([start, i]);
  }
  return words;
}
