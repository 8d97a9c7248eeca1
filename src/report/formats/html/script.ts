/**
 * What makes the page's list of changes searchable. The page is complete without it: the filter is shown
 * only where it works. Plain JavaScript of browsers, so it is a text here.
 */
export const pageScript = `"use strict";
(() => {
  const form = document.querySelector(".filter");
  const search = form.querySelector("[type=search]");
  const boxes = [...form.querySelectorAll("[type=checkbox]")];
  const count = form.querySelector("output");
  const leaves = [...document.querySelectorAll(".leaf")].map((element) => {
    const outer = element.closest(".alike");
    const shared = outer === null ? "" : outer.querySelector("summary").textContent;
    const text = (element.textContent + " " + shared).toLowerCase();
    return { element, kind: element.dataset.kind, text };
  });
  // Inner ones first: an outer one is empty when all in it are.
  const containers = [...document.querySelectorAll(".alike, .group")].reverse();
  const folded = [...document.querySelectorAll(".alike > details")];
  const number = (value) => value.toLocaleString("en");

  const filter = () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
    const kinds = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const { element, kind, text } of leaves) {
      const fits = kinds.has(kind) && words.every((word) => text.includes(word));
      element.hidden = !fits;
      if (fits) shown += 1;
    }
    for (const container of containers) {
      container.hidden = container.querySelector(".leaf:not([hidden])") === null;
    }
    // What was searched for is not left folded away.
    if (words.length > 0) for (const details of folded) details.open = !details.parentElement.hidden;
    count.textContent = number(shown) + " of " + number(leaves.length) + " lines shown";
  };
  const foldAll = (open) => {
    for (const details of document.querySelectorAll(".changes details")) details.open = open;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  form.querySelector("[data-fold=open]").addEventListener("click", () => foldAll(true));
  form.querySelector("[data-fold=close]").addEventListener("click", () => foldAll(false));
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.matches("input, textarea, select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    search.focus();
  });
  form.hidden = false;
  filter();
})();
`;
