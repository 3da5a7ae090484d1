// Changes the live elements of a page into those of the page that was loaded again, in place: what
// a person has entered, selected, focused or unfolded stays, because the elements stay.
"use strict";

const live = (() => {
  // What an update neither moves nor removes under the mouse.
  const FIXED = "[data-row], td > *, .actions, .actions > *";
  const FIELDS = "input, select, textarea";
  // What the mouse is on, and the element whose change waits until the mouse has left it.
  let pointed = null;
  let postponed = null;
  let waiting = 0;
  // Whether a field that is being edited is no longer on the page.
  let hasLeftover = false;

  // After a call of this page (`isOwn`), its result is shown wherever the mouse is. Returns the
  // number of new rows that wait.
  function apply(page, isOwn) {
    const focused = document.activeElement;
    const row = isOwn ? null : pointed?.closest("[data-row]");
    const top = row?.getBoundingClientRect().top;
    postponed = null;
    hasLeftover = false;
    waiting = 0;
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(old.id);
      if (fresh) morph(old, fresh, isOwn);
    }
    // What is above the row may have another height now.
    if (row?.isConnected) scrollBy(0, row.getBoundingClientRect().top - top);
    if (!focused.isConnected) replacement(focused, isOwn).focus({ preventScroll: true });
    return waiting;
  }

  function morph(old, fresh, isOwn) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    const isOpenList = old.localName === "select" && old === document.activeElement;
    if (isOpenList || old.hasAttribute("aria-busy") || old.isEqualNode(fresh)) return;
    // It has loaded its content itself.
    if (old.dataset.load && old.dataset.load === fresh.dataset.load) return;
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    // A field that was edited ignores its new default.
    for (const { name, value } of fresh.attributes) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    const unused = new Map();
    for (const each of old.childNodes) {
      const key = identity(each);
      unused.set(key, [...(unused.get(key) ?? []), each]);
    }
    const pairs = Array.from(fresh.childNodes, (each) => [each, unused.get(identity(each))?.shift()]);
    if (!isOwn && wouldMove(old, pairs)) {
      postponed = old;
      waiting += pairs.filter(([each, same]) => !same && each.matches?.("[data-row]")).length;
      for (const [each, same] of pairs) if (same) morph(same, each, isOwn);
      return;
    }
    for (const gone of [...unused.values()].flat()) {
      if (isOwn || !isBeingEdited(gone)) gone.remove();
      else hasLeftover = true;
    }
    let next = old.firstChild;
    for (const [each, same] of pairs) {
      if (same && same === next) next = next.nextSibling;
      else old.insertBefore(same ?? each, next);
      if (same) morph(same, each, isOwn);
    }
  }

  // What makes an element the same one on the new page: its purpose, and that of a row is its first
  // link or button.
  function identity(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
    if (node.id) return `#${node.id}`;
    const { testid, call, body } = node.dataset;
    const isItem = testid || node.localName === "li";
    const inner = isItem ? node.querySelector("[id], [data-call], a[href]") : null;
    return JSON.stringify([
      node.localName, testid, call, body, node.getAttribute("name"), node.getAttribute("href"),
      node.localName === "option" ? node.value : "",
      inner?.id, inner?.dataset.call, inner?.getAttribute("href"),
    ]);
  }

  // Whether a change of the children would move or remove what the mouse is on.
  function wouldMove(parent, pairs) {
    const children = [...parent.children];
    const at = children.findIndex((each) => each.matches(FIXED) && (each.contains(pointed) || isSelected(each)));
    const elements = pairs.filter(([each]) => each.nodeType === Node.ELEMENT_NODE);
    return children.slice(0, at + 1).some((each, index) => each !== elements[index]?.[1]);
  }

  // Whether a person has selected text in a row.
  function isSelected(row) {
    const selection = getSelection();
    return !selection.isCollapsed && row.matches("[data-row]") && selection.containsNode(row, true);
  }

  function isBeingEdited(node) {
    const field = document.activeElement;
    return node.contains(field) && field.matches(FIELDS);
  }

  // What gets the focus of an element that is gone: after a call of this page, what calls the same.
  function replacement(gone, isOwn) {
    const { call } = gone.dataset;
    const same = isOwn && call ? document.querySelector(`[data-call="${CSS.escape(call)}"]`) : null;
    return same ?? document.querySelector("main");
  }

  // Calls the function when an update that was put off can be made.
  function whenReleased(update) {
    const point = (element) => {
      pointed = element;
      if (!postponed || postponed.contains(pointed) || !getSelection().isCollapsed) return;
      postponed = null;
      update();
    };
    // A finger is on nothing before it presses.
    document.addEventListener("pointerover", (event) => point(event.pointerType === "mouse" ? event.target : null));
    document.documentElement.addEventListener("pointerleave", () => point(null));
    document.addEventListener("focusout", () => hasLeftover && update());
  }

  return { apply, replacement, whenReleased };
})();
