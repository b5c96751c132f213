// What scripts add to a task's form: they fill its fields, never replace it. Text enters the page through textContent.
import { enhanceSpans } from "./spans.js";

export function enhance(task) {
  const find = task.querySelector("[data-find]");
  if (find) find.addEventListener("input", () => narrow(task, find.value.trim().toLowerCase()));
  const slider = task.querySelector("[data-slider]");
  if (slider) join(slider, task.querySelector("#number"));
  const ranking = task.querySelector("[data-ranking]");
  if (ranking) rank(ranking);
  if (task.querySelector("[data-spans]")) enhanceSpans(task);
}

function narrow(task, wanted) {
  for (const button of task.querySelectorAll(".choice")) button.hidden = !button.textContent.toLowerCase().includes(wanted);
}

function join(slider, field) {
  slider.addEventListener("input", () => { field.value = slider.value; });
  field.addEventListener("input", () => { if (field.value !== "") slider.value = field.value; });
}

// A ranking is the order of the list; the fields that are sent follow it.
function rank(list) {
  const items = () => Array.from(list.querySelectorAll("[data-item]"));
  const number = () => items().forEach((item, place) => { item.querySelector("select").value = String(place + 1); });
  const move = (item, step) => {
    const all = items();
    const to = all.indexOf(item) + step;
    if (to < 0 || to >= all.length) return;
    list.insertBefore(item, step < 0 ? all[to] : all[to].nextSibling);
    number();
  };
  number();
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move]");
    if (!button) return;
    move(button.closest("[data-item]"), Number(button.dataset.move));
    button.focus();
  });
  list.addEventListener("keydown", (event) => {
    const item = event.target.closest("[data-item]");
    if (!item || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    const button = event.target.closest("[data-move]");
    if (event.altKey) {
      move(item, event.key === "ArrowUp" ? -1 : 1);
      (button || item.querySelector("[data-move]")).focus();
    } else {
      const beside = items()[items().indexOf(item) + (event.key === "ArrowUp" ? -1 : 1)];
      if (beside) beside.querySelector("[data-move]").focus();
    }
  });
  for (const item of items()) drag(list, item, items, number);
}

function drag(list, item, items, number) {
  const what = item.querySelector(".what");
  what.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    what.setPointerCapture(event.pointerId);
    item.classList.add("dragged");
    // The others go round the one that is dragged: taken out of the list, it would lose the pointer.
    const follow = (at) => {
      const all = items();
      const mine = all.indexOf(item);
      const middle = (each) => each.getBoundingClientRect().top + each.offsetHeight / 2;
      for (const other of all.slice(mine + 1)) if (at.clientY > middle(other)) list.insertBefore(other, item);
      for (const other of all.slice(0, mine).reverse()) if (at.clientY < middle(other)) list.insertBefore(other, item.nextSibling);
      number();
    };
    const drop = () => {
      item.classList.remove("dragged");
      what.removeEventListener("pointermove", follow);
    };
    what.addEventListener("pointermove", follow);
    what.addEventListener("pointerup", drop, { once: true });
    what.addEventListener("pointercancel", drop, { once: true });
  });
}

// Arrow keys go from choice to choice; of two sides, left is left.
export function byArrow(task, key) {
  const direct = task.querySelector(`[data-arrow="${key}"]`);
  if (direct) return focus(direct);
  const area = task.querySelector("[data-arrows]");
  if (!area) return false;
  const all = Array.from(area.querySelectorAll("button.choice, .choice input")).filter((each) => each.offsetParent);
  if (!all.length) return false;
  const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  const at = all.indexOf(document.activeElement);
  return focus(all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length]);
}

function focus(element) {
  element.focus();
  return true;
}

// A digit presses the button, ticks the box, or gives the tag.
export function byDigit(task, key) {
  const found = task.querySelector(`[data-key="${key}"]`);
  if (!found) return false;
  found.click();
  return true;
}
