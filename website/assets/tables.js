/* A table that scrolls can be scrolled with the keyboard. */
addEventListener("load", () => {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) region.tabIndex = 0;
});
