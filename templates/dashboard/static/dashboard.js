// Makes the pages of the dashboard interactive; without it they can be read.
//
//   data-call="POST /path"   a button or form that calls the control API on the page's account;
//                            data-body is its JSON, or the form's fields are. A form's field with
//                            data-type="number" or "instant" is converted; an empty one is omitted.
//                            A {field} in the path is a field of the form, and data-yaml is the
//                            name of a field whose text is the whole body
//   data-then="/path/{id}"   where to go then, with members of the response; else the page updates
//   data-confirm="…"         the question to answer before a call
//   data-copy="#id"          copies the text of an element; data-copy-from="/path" that of a page;
//                            the copy has the test key in place of `$TEST_KEY`, which pages show;
//                            data-member is the member to copy of a page that is JSON
//   data-window              a link that opens in a window of the size of a phone
//   data-live                elements with an id that are replaced when the page updates
//   data-row                 a row of a list, for the keys j and k
"use strict";

(() => {
  const MIN_UPDATE_MS = 500;
  const RETRY_MS = 1000;
  const MESSAGE_MS = 10000;
  const KEY_VARIABLE = "$TEST_KEY";
  const KEY_PATH = "/_emulator/view/test-key";
  const body = document.body;
  const subject = new URLSearchParams(body.dataset.subject);
  const message = document.querySelector("[data-message]");

  function show(text, isError) {
    message.textContent = text;
    message.classList.toggle("error", isError);
    message.hidden = false;
    clearTimeout(show.timer);
    if (!isError) show.timer = setTimeout(() => (message.hidden = true), MESSAGE_MS);
  }

  function withSubject(path) {
    const query = subject.toString();
    if (!query) return path;
    return path + (path.includes("?") ? "&" : "?") + query;
  }

  // Calls of the control API

  function fieldsOf(form) {
    const members = {};
    for (const field of form.elements) {
      if (!field.name || field.disabled || field.value === "") continue;
      if ((field.type === "checkbox" || field.type === "radio") && !field.checked) continue;
      members[field.name] =
        field.type === "checkbox" ? true
        : field.type === "select-multiple" ? Array.from(field.selectedOptions, (each) => each.value)
        // The call refuses a text that is no number.
        : field.dataset.type === "number" && Number.isFinite(Number(field.value)) ? Number(field.value)
        // A page shows an instant with a blank between date and time.
        : field.dataset.type === "instant" ? field.value.trim().replace(/^(\S+)\s+(?=\d)/, "$1T")
        : field.value;
    }
    return members;
  }

  async function call(element) {
    const isForm = element instanceof HTMLFormElement;
    const fields = isForm ? fieldsOf(element) : {};
    const [method, address] = element.dataset.call.split(" ");
    const path = address.replace(/\{(\w+)\}/g, (_, name) => {
      const value = fields[name];
      delete fields[name];
      return encodeURIComponent(value);
    });
    const { yaml } = element.dataset;
    const options = { method, headers: {} };
    if (element.dataset.confirm && !confirm(element.dataset.confirm)) return;
    try {
      const text = yaml ? fields[yaml] ?? ""
        : element.dataset.body ?? (isForm ? JSON.stringify(fields) : undefined);
      if (text !== undefined) {
        options.body = text;
        options.headers["Content-Type"] = yaml ? "application/yaml" : "application/json";
      }
      const response = await fetch(withSubject(`/_emulator${path}`), options);
      const content = response.status === 204 ? {} : await response.json();
      if (!response.ok) throw new Error(content.error.message);
      message.hidden = true;
      const then = element.dataset.then;
      if (then) {
        location.href = then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(content[name]));
      } else {
        if (element.dataset.done) show(element.dataset.done, false);
        hasSubmitted = isForm;
        await update();
      }
    } catch (error) {
      show(error.message, true);
      if (yaml) selectLine(element.elements[yaml], error.message);
    }
  }

  // Selects the line that the message names, as in "line 3, column 5: …".
  function selectLine(textarea, text) {
    const line = Number(/^line (\d+)/.exec(text)?.[1]);
    if (!line) return;
    const lines = textarea.value.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    textarea.focus();
    textarea.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-call]");
    if (button) call(button);
    const copying = event.target.closest("[data-copy], [data-copy-from]");
    if (copying) copy(copying);
    const link = event.target.closest("a[data-window]");
    if (link && open(link.href, link.target, "popup,width=412,height=860")) event.preventDefault();
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.dataset.call) return;
    event.preventDefault();
    call(event.target);
  });

  document.addEventListener("change", (event) => {
    event.target.closest("[data-submit-on-change]")?.requestSubmit();
  });

  async function copy(element) {
    const { copy: selector, copyFrom, member } = element.dataset;
    try {
      let text = selector
        ? document.querySelector(selector).textContent
        : await textFrom(withSubject(copyFrom), member);
      if (text.includes(KEY_VARIABLE)) {
        text = text.replaceAll(KEY_VARIABLE, await textFrom(withSubject(KEY_PATH)));
      }
      await write(text);
      show("Copied.", false);
    } catch (error) {
      show(`Not copied: ${error.message}`, true);
    }
  }

  // Browsers have a clipboard only for pages of HTTPS and of this machine.
  async function write(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("the browser does not allow this page to copy.");
  }

  async function textFrom(path, member) {
    const response = await fetch(path);
    if (!response.ok) throw new Error((await response.json()).error.message);
    return member ? (await response.json())[member] : response.text();
  }

  // Updates: the page is loaded again, and its live elements are replaced.

  let updating = null;
  let updatedAt = -MIN_UPDATE_MS;
  // The messages that the last and the scheduled update follow; null after a call of this page,
  // and without a scheduled update.
  let updatedSince = null;
  let scheduledSince = null;
  // A field that is being edited is not replaced, unless its form was submitted.
  let hasSubmitted = false;

  // Updates after a message of the stream, at most twice a second.
  function schedule(since) {
    if (since === updatedSince) return;
    if (scheduledSince === null) {
      const wait = Math.max(0, updatedAt + MIN_UPDATE_MS - performance.now());
      setTimeout(() => scheduledSince !== null && update(scheduledSince), wait);
    }
    scheduledSince = since;
  }

  async function update(since = null) {
    while (updating) await updating;
    updatedAt = performance.now();
    updatedSince = since;
    scheduledSince = null;
    updating = load(since);
    await updating;
    updating = null;
  }

  async function load(since) {
    const headers = { Accept: "text/html" };
    // Many dashboards get the page that was rendered for the first of them after the message.
    if (since) headers["Emulator-Since"] = since;
    // Without a connection, the page updates when the stream is connected again.
    const response = await fetch(location.href, { headers }).catch(() => null);
    if (!response) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    // A server that starts or stops returns JSON.
    if (!page.body.dataset.version) return;
    // The item or the account is deleted, or now exists.
    if (hasProblem(page) !== hasProblem(document)) location.reload();
    const edited = hasSubmitted ? null : document.activeElement?.closest("input, select, textarea");
    hasSubmitted = false;
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(old.id);
      if (!fresh || (edited && old.contains(edited))) continue;
      for (const details of old.querySelectorAll("details[id]")) {
        fresh.querySelector(`#${CSS.escape(details.id)}`)?.toggleAttribute("open", details.open);
      }
      if (fresh.isEqualNode(old)) continue;
      const focused = old.contains(document.activeElement) ? document.activeElement : null;
      const part = document.importNode(fresh, true);
      old.replaceWith(part);
      if (focused) sameElement(focused, part)?.focus();
    }
    tick();
  }

  const hasProblem = (page) => page.querySelector("[data-problem]") !== null;

  // The element of a new part that was the focused one: of the same row, with the same purpose.
  function sameElement(focused, part) {
    const elements = [...part.querySelectorAll(focused.localName)];
    const { call, testid } = focused.dataset;
    return elements.find((each) => each.isEqualNode(focused))
      || (testid && elements.find((each) => each.dataset.testid === testid && each.dataset.call === call))
      || (call && elements.find((each) => each.dataset.call === call));
  }

  // The stream says what has changed. A page names the kinds that it shows in data-stream; a page
  // of older items, which does not change, only counts the new ones.

  const shown = new Set([...body.dataset.stream.split(" ").filter(Boolean), "clock", "rules"]);
  const newCount = document.querySelector("[data-new-count]");
  let hasListened = false;

  // The stream of the page. A hidden page has none: a browser opens six connections to an address.
  let stream = null;

  function listen() {
    if (stream || document.hidden) return;
    const source = new EventSource(withSubject("/_emulator/stream"));
    stream = source;
    source.addEventListener("hello", (event) => {
      if (JSON.parse(event.data).version !== body.dataset.version) location.reload();
      // The page may be older than the stream.
      else if (body.dataset.stream || hasListened) update();
      hasListened = true;
    });
    // The browser connects again by itself, but not after a refusal, as of a server that starts.
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return;
      stream = null;
      setTimeout(() => update().then(listen), RETRY_MS);
    });
    for (const kind of ["payments", "requests", "deliveries", "clock", "rules", "endpoints", "unauthorized"]) {
      source.addEventListener(kind, (event) => {
        if (shown.has(kind)) schedule(event.lastEventId);
        else if (newCount && kind === newCount.dataset.newCount) countNew(JSON.parse(event.data));
      });
    }
  }

  function countNew(change) {
    const isNew = (each) => each.type === "payment.created";
    const created = change.events ? change.events.filter(isNew).length : 1;
    newCount.dataset.count = Number(newCount.dataset.count ?? 0) + created;
    newCount.querySelector("[data-number]").textContent = newCount.dataset.count;
    newCount.hidden = newCount.dataset.count === "0";
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return listen();
    stream?.close();
    stream = null;
  });
  listen();

  // The clock of the account runs on between two updates.

  let clockSeenAt = performance.now();

  function tick() {
    clockSeenAt = performance.now();
  }

  setInterval(() => {
    const clock = document.querySelector("[data-clock=flowing]");
    if (!clock) return;
    const passed = (performance.now() - clockSeenAt) * Number(clock.dataset.rate ?? 1);
    const now = new Date(Date.parse(clock.dateTime) + passed);
    clock.textContent = now.toISOString().replace("T", " ").slice(0, 19);
  }, 200);

  // The keyboard

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.querySelector("[type=search]:focus")?.blur();
    if (event.target.closest("input, select, textarea, dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      document.querySelector("[type=search]").focus();
    } else if (event.key === "?") {
      document.querySelector("#help").showModal();
    } else if (event.key === "j" || event.key === "k") {
      const rows = [...document.querySelectorAll("[data-row]")];
      const step = event.key === "j" ? 1 : -1;
      const at = rows.findIndex((row) => row.contains(document.activeElement));
      rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.querySelector("a[href]").focus();
    }
  });
})();
