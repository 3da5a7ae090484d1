// Opens the search: what the server finds, then the commands of the page that contain the text.
"use strict";

(() => {
  const WAIT_MS = 150;
  const MAX_COMMANDS = 8;
  const COMMANDS = "nav a, button[data-call], [data-copy], [data-copy-from], a[download], a[data-window]";
  const dialog = document.querySelector("#search");
  const form = dialog.querySelector("form");
  const field = form.querySelector("[name=q]");
  const results = dialog.querySelector("ul");
  let timer = null;
  // The text of the shown results.
  let shown = null;

  const labelOf = (element) => element.textContent.trim().replace(/\s+/g, " ");

  // One item for each command, but those of the rows of a list.
  function commands(text) {
    const found = new Map();
    for (const element of document.querySelectorAll(COMMANDS)) {
      const label = labelOf(element);
      const isUsable = !element.disabled && !element.closest("dialog, [data-row], [data-testid=endpoint]");
      if (isUsable && !found.has(label) && label.toLowerCase().includes(text.toLowerCase())) found.set(label, element);
    }
    return [...found].slice(0, MAX_COMMANDS).map(([label, element]) => {
      const item = document.createElement("li");
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      button.dataset.testid = "command";
      button.addEventListener("click", () => {
        dialog.close();
        element.click();
      });
      item.append(button);
      return item;
    });
  }

  async function search() {
    clearTimeout(timer);
    const text = field.value.trim();
    if (text === shown) return;
    let found = [];
    if (text) {
      const query = new URLSearchParams(new FormData(form));
      query.set("list", "1");
      const response = await fetch(`${form.action}?${query}`, { headers: { Accept: "text/html" } }).catch(() => null);
      if (!response || field.value.trim() !== text) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      found = [...page.querySelectorAll("[data-found] li")].map((each) => document.importNode(each, true));
    }
    const items = commands(text);
    if (results.contains(document.activeElement)) field.focus();
    // Without a match, the hint is shown after the commands.
    results.replaceChildren(...(found[0]?.querySelector("a") ? [...found, ...items] : [...items, ...found]));
    shown = text;
  }

  function open() {
    if (!dialog.open) dialog.showModal();
    shown = null;
    field.select();
    search();
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, WAIT_MS);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await search();
    results.querySelector("a, button")?.click();
  });
  dialog.addEventListener("keydown", (event) => {
    // In a search field, a browser's Escape only clears the text.
    if (event.key === "Escape") dialog.close();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const items = [field, ...results.querySelectorAll("a, button")];
    const at = items.indexOf(document.activeElement) + step;
    items[Math.max(0, Math.min(items.length - 1, at))].focus();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-search]") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, select, textarea, dialog[open]");
    const isKey = event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isKey && !(event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    open();
  });
})();
