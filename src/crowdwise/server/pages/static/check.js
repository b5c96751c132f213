// Keys of the check page: a digit presses the button that shows it. Everything works without this script.
import { enhance } from "./controls.js";

const task = document.querySelector("[data-task]");
if (task) enhance(task);
document.addEventListener("keydown", (event) => {
  if (!task || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("textarea, select, input")) return;
  const button = /^[0-9]$/.test(event.key) && task.querySelector(`[data-key="${event.key}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
});
