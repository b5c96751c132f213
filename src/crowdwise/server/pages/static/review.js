// Keys of the review page: a digit chooses an answer, a accepts the label, l is later, u withdraws the last decision, n
// opens the note. Everything works without this script.
import { enhance } from "./controls.js";

const task = document.querySelector("[data-task]");
const page = (selector) => document.querySelector(selector);
if (task) enhance(task);
const acts = {
  a: () => page("[data-accept]"),
  l: () => page("[data-later]"),
  u: () => page("[data-undo]"),
};
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("textarea, select, input")) return;
  if (event.key === "n" && page("[data-note]")) {
    event.preventDefault();
    page("[data-note]").closest("details").open = true;
    page("[data-note]").focus();
    return;
  }
  const digit = /^[0-9]$/.test(event.key) && task && task.querySelector(`[data-key="${event.key}"]`);
  const button = digit || (acts[event.key] && acts[event.key]());
  if (!button) return;
  event.preventDefault();
  button.click();
});
