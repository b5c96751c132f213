// Whoever leaves takes along what this browser kept of their tasks; and where nobody is logged in nothing is kept.
import { forget } from "./kept.js";

if (document.querySelector("[data-nobody]")) forget().catch(() => {});
for (const form of document.querySelectorAll('form[action="/logout"]')) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    forget().catch(() => {}).finally(() => form.submit());
  });
}
