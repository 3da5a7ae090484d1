// Opens the search: what the server finds, then the commands of the page that contain the text, those
// of the header last. A command presses a button or link, or goes to the first field of a form.
"use strict";

(() => {
  const WAIT_MS = 150;
  const MAX_COMMANDS = 8;
  const COMMANDS = "nav a, button[data-call], [data-copy], [data-copy-from], a[download], a[data-window],"
    + " form[data-call], :is(.tools, #kinds) :is(summary, a)";
  const ELSEWHERE = "dialog, [data-row], [data-testid=endpoint]";
  const dialog = document.querySelector("#search");
  const form = dialog.querySelector("form");
  const field = form.querySelector("[name=q]");
  const results = dialog.querySelector("ul");
  let timer = null;
  // The text of the shown results.
  let shown = null;

  const textOf = (element) => (element?.textContent ?? "").trim().replace(/\s+/g, " ");

  // That of a form is the text of its button and of its first label.
  function labelOf(element) {
    if (element.localName !== "form") return textOf(element);
    const label = element.querySelector("label")?.firstChild ?? element.querySelector("span");
    return [element.querySelector("button"), label].map(textOf).filter(Boolean).join(" · ");
  }

  // Opens what is folded around a form or a summary, and goes to its first field.
  function go(element) {
    const isFolded = element.localName === "summary" || element.localName === "form";
    if (!isFolded) return element.click();
    if (!element.checkVisibility()) element.closest(".actions")?.querySelector(".more input")?.click();
    for (let part = element; part; part = part.parentElement) if (part.localName === "details") part.open = true;
    const fields = element.closest("form, details").querySelectorAll("input:not([type=hidden]), select, button");
    (fields[0] ?? element).focus();
  }

  const rank = (element) => (element.closest("main") ? 0 : element.closest("nav") ? 1 : 2);

  // One item for each command, but those of the rows of a list.
  function commands(text) {
    const found = new Map();
    const all = [...document.querySelectorAll(COMMANDS)].filter((each) => !each.disabled && !each.closest(ELSEWHERE));
    for (const element of all.sort((one, other) => rank(one) - rank(other))) {
      const label = labelOf(element);
      if (!found.has(label) && label.toLowerCase().includes(text.toLowerCase())) found.set(label, element);
    }
    return [...found].slice(0, MAX_COMMANDS).map(([label, element]) => {
      const item = document.createElement("li");
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      button.dataset.testid = "command";
      button.addEventListener("click", () => {
        close();
        go(element);
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
    // Without a match, the hint is shown where there are no commands either.
    const isHint = found.length && !found[0].querySelector("a");
    results.replaceChildren(...(isHint && items.length ? [] : found), ...items);
    shown = text;
  }

  function open() {
    if (!dialog.open) dialog.showModal();
    shown = null;
    field.select();
    search();
  }

  // A browser takes the focus from a closed dialog only with its next frame: keys would go there.
  function close() {
    document.activeElement.blur();
    dialog.close();
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
    if (event.key === "Escape") close();
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
    const isTyping = event.target.closest("input, select, textarea") || document.querySelector("dialog[open]");
    const isKey = event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isKey && !(event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    open();
  });
})();
