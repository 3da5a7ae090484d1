// Makes the pages of the dashboard interactive; without it they can be read.
//
//   data-call="POST /path"   a button or form that calls the control API on the page's account, or
//                            `/v1` with its test key;
//                            data-body is its JSON, or the form's fields are. A form's field with
//                            data-type="number" or "instant" is converted; an empty one is
//                            omitted.
//                            A {field} in the path is a field of the form, and data-yaml is the
//                            name of a field whose text is the whole body
//   data-done="… {status}"   what the call did, with members of the response; an advance and an
//                            attempt to deliver have their own sentences
//   data-then="/path/{id}"   where to go then, with members of the response; else the page updates
//   data-confirm="…"         the question to answer before a call
//   data-copy="#id"          copies the text of an element; data-copy-from="/path" that of a page;
//                            the copy has the test key in place of `$TEST_KEY`, which pages show;
//                            data-member is the member to copy of a page that is JSON
//   data-window              a link that opens in a window of the size of a phone
//   download                 a link to a file; a refusal is shown
//   data-load="/path"        is filled with the elements with data-part of a page, once unfolded
//   data-live                elements with an id that change when the page updates
//   data-steps               the list of the steps of a script that was run
//   data-row                 a row of a list, for the keys j and k
//   data-span                a time that is shown as its distance to now
"use strict";

(() => {
  const MIN_UPDATE_MS = 500;
  const RETRY_MS = 1000;
  const MESSAGE_MS = 10000;
  const UNREACHABLE = "The emulator does not respond, and it is unknown whether the call had an effect.";
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

  // What a call of the page before this one did.
  const done = sessionStorage.getItem("done");
  sessionStorage.removeItem("done");
  if (done) show(done, false);

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

  async function request(address, options) {
    const response = await fetch(address, options).catch(() => null);
    if (!response) throw new Error(UNREACHABLE);
    if (!response.ok) throw new Error((await response.json()).error.message);
    return response;
  }

  // A button or link that has started something does nothing more until that has ended.
  async function once(element, work) {
    if (element.hasAttribute("aria-busy")) return;
    const isFocused = document.activeElement === element;
    element.setAttribute("aria-busy", "true");
    element.disabled = true;
    await work().catch((error) => show(error.message, true));
    element.disabled = false;
    element.removeAttribute("aria-busy");
    // A browser takes the focus from a disabled button.
    if (isFocused && document.activeElement === body) element.focus({ preventScroll: true });
  }

  async function start(element, button) {
    const { confirm: question, then } = element.dataset;
    if (question && !confirm(question)) return;
    const isFocused = document.activeElement === button;
    let done = null;
    await once(button, async () => (done = await call(element)));
    if (done === null) return;
    if (then) {
      sessionStorage.setItem("done", done.text);
      location.href = sentences.filled(then, done.content, encodeURIComponent);
      return;
    }
    show(done.text, false);
    const isForm = element instanceof HTMLFormElement;
    // Not if another value was entered during the call.
    if (isForm && element.closest("[data-live]") && done.sent === sentBy(element)) element.reset();
    await update({ isOwn: true });
    // An update during the call may have replaced the button.
    const isLost = [body, document.querySelector("main")].includes(document.activeElement);
    if (isFocused && isLost && !button.isConnected) live.replacement(button, true).focus({ preventScroll: true });
  }

  const sentBy = (form) => JSON.stringify(fieldsOf(form));

  // What a call did, in one sentence; throws where it was refused.
  async function call(element) {
    const isForm = element instanceof HTMLFormElement;
    const sent = isForm ? sentBy(element) : null;
    const fields = isForm ? fieldsOf(element) : {};
    const before = document.querySelector("[data-clock]").textContent;
    const [method, address] = element.dataset.call.split(" ");
    const path = address.replace(/\{(\w+)\}/g, (_, name) => {
      const value = fields[name];
      delete fields[name];
      return encodeURIComponent(value);
    });
    const { yaml, done } = element.dataset;
    const options = { method, headers: {} };
    const text = yaml ? fields[yaml] ?? ""
      : element.dataset.body ?? (isForm ? JSON.stringify(fields) : undefined);
    if (text !== undefined) {
      options.body = text;
      options.headers["Content-Type"] = yaml ? "application/yaml" : "application/json";
    }
    try {
      const isPublic = path.startsWith("/v1/");
      if (isPublic) options.headers.Authorization = `Bearer ${await textFrom(withSubject(KEY_PATH))}`;
      const response = await request(isPublic ? path : withSubject(`/_emulator${path}`), options);
      const content = response.status === 204 ? {} : await response.json();
      const what = done ? sentences.filled(done, content)
        : content.effects ? sentences.advanced(before, content)
        : content.steps ? showSteps(content)
        : sentences.delivered(content);
      return { content, sent, text: what };
    } catch (error) {
      if (yaml) selectLine(element.elements[yaml], error.message);
      throw error;
    }
  }

  // Lists the steps of a script that was run; returns the sentence about them.
  function showSteps({ account, steps }) {
    const list = document.querySelector("[data-steps]");
    list.replaceChildren(...steps.map(({ text, result, at }) => Object.assign(
      document.createElement("li"),
      { textContent: `${text}: ${result}`, title: at, className: result.startsWith("failed: ") ? "cause" : "" },
    )));
    list.parentElement.hidden = false;
    list.parentElement.querySelector("a").href = `/_emulator/view/payments?account=${account}`;
    return sentences.ran(steps);
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
    const element = event.target.closest("button, a");
    if (!element) return;
    const { call, copy: selector, copyFrom } = element.dataset;
    const isDownload = element.matches("a[download]");
    // Of a double click, only the first one counts.
    if (isDownload || (event.detail > 1 && element.matches("button"))) event.preventDefault();
    if (event.detail > 1) return;
    if (call) start(element, element);
    else if (selector || copyFrom) once(element, () => copy(element));
    else if (isDownload) once(element, () => download(element));
    else if ("window" in element.dataset && open(element.href, element.target, "popup,width=412,height=860")) event.preventDefault();
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.dataset.call) return;
    event.preventDefault();
    start(event.target, event.submitter ?? event.target.querySelector("button"));
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

  // The file is requested first, so that a refusal is shown.
  async function download(link) {
    const file = URL.createObjectURL(await (await request(link.href)).blob());
    Object.assign(document.createElement("a"), { href: file, download: link.download }).click();
    setTimeout(() => URL.revokeObjectURL(file), MESSAGE_MS);
    show(`${link.download} was downloaded.`, false);
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
    const response = await request(path);
    return member ? (await response.json())[member] : response.text();
  }

  // Updates: the page is loaded again, and its live elements become the new ones, in place.

  let updating = null;
  let updatedAt = -MIN_UPDATE_MS;
  // The ids of the messages that the last and the scheduled update follow, if any.
  let updatedAfter = null;
  let scheduledAfter = null;

  // Updates after a message of the stream, at most twice a second; messages about the same changes
  // have the same id.
  function schedule(id) {
    if (id === updatedAfter) return;
    if (scheduledAfter === null) {
      const wait = Math.max(0, updatedAt + MIN_UPDATE_MS - performance.now());
      setTimeout(() => scheduledAfter !== null && update(), wait);
    }
    scheduledAfter = id;
  }

  async function update({ isOwn = false } = {}) {
    while (updating) await updating;
    updatedAt = performance.now();
    updatedAfter = scheduledAfter;
    scheduledAfter = null;
    updating = load(isOwn).finally(() => (updating = null));
    await updating;
  }

  async function load(isOwn) {
    // Without a connection, the page updates when the stream is connected again.
    const response = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
    if (!response) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    // A server that starts or stops returns JSON.
    if (!page.body.dataset.version) return;
    // The item or the account is deleted, or now exists.
    if (hasProblem(page) !== hasProblem(document)) location.reload();
    waiting = live.apply(page, isOwn);
    fillOpen();
    showCount();
    body.dataset.revision = page.body.dataset.revision;
    seenAt = performance.now();
  }

  // What is unfolded shows the parts of another page, loaded once.
  function fillOpen() {
    const parts = "details[open] > [data-load]:empty, details[open] > .unfolded > [data-load]:empty";
    for (const part of document.querySelectorAll(parts)) {
      once(part, async () => {
        const response = await request(part.dataset.load, { headers: { Accept: "text/html" } });
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        part.replaceChildren(...page.querySelectorAll("[data-part]"));
      });
    }
  }

  document.addEventListener("toggle", fillOpen, true);

  const hasProblem = (page) => page.querySelector("[data-problem]") !== null;

  live.whenReleased(() => update());

  // The stream says what has changed. A page names the kinds that it shows in data-stream, and the
  // payment in data-stream-payment; a page of older items, which does not change, only counts the
  // new ones.

  // The new rows that wait until the mouse has left the list.
  let waiting = 0;

  const shown = new Set([...body.dataset.stream.split(" ").filter(Boolean), "clock", "rules"]);
  const newCount = document.querySelector("[data-new-count]");
  // The header shows the next webhook.
  if (newCount?.dataset.newCount !== "deliveries") shown.add("deliveries");

  // The stream of the page. A hidden page has none: a browser opens six connections to an address.
  let stream = null;
  // Null until the first connection.
  let isConnected = null;

  function connected(is) {
    isConnected = is;
    if (is && message.textContent.includes(UNREACHABLE)) message.hidden = true;
    tick();
  }

  function listen() {
    if (stream || document.hidden) return;
    const { streamPayment: payment } = body.dataset;
    const source = new EventSource(withSubject(`/_emulator/stream${payment ? `?payment=${payment}` : ""}`));
    stream = source;
    source.addEventListener("hello", (event) => {
      if (JSON.parse(event.data).version !== body.dataset.version) return location.reload();
      // Something has changed between the page and its stream.
      const isOld = event.lastEventId !== body.dataset.revision;
      (isOld ? update() : Promise.resolve()).then(() => connected(source.readyState === EventSource.OPEN));
    });
    // The browser connects again by itself, but not after a refusal, as of a server that starts.
    source.addEventListener("error", () => {
      connected(false);
      // Another process may have the same revision.
      body.dataset.revision = "";
      if (source.readyState !== EventSource.CLOSED) return;
      stream = null;
      setTimeout(() => update().then(listen), RETRY_MS);
    });
    for (const kind of new Set([...shown, newCount?.dataset.newCount ?? "clock"])) {
      source.addEventListener(kind, (event) => {
        if (shown.has(kind)) schedule(event.lastEventId);
        else countNew(JSON.parse(event.data));
      });
    }
  }

  function countNew(change) {
    const isNew = (each) => each.type === "payment.created";
    const created = change.events ? change.events.filter(isNew).length : 1;
    newCount.dataset.count = Number(newCount.dataset.count ?? 0) + created;
    showCount();
  }

  function showCount() {
    if (!newCount) return;
    const count = Number(newCount.dataset.count ?? 0) + waiting;
    newCount.querySelector("[data-number]").textContent = count;
    newCount.hidden = count === 0;
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return listen();
    stream?.close();
    stream = null;
    connected(false);
  });

  // The clock of the account, and the rest of a pause, run on between two updates while the page is
  // connected.

  let seenAt = performance.now();
  const chip = document.querySelector("[data-state]");

  function tick() {
    const passed = performance.now() - seenAt;
    const { pauseS } = document.querySelector("#account").dataset;
    const left = Math.ceil(Math.max(0, Number(pauseS) - passed / 1000));
    const [state, color] = !isConnected ? ["reconnecting", "failed"]
      : pauseS ? ["deliveries paused", "processing"] : ["connected", "completed"];
    chip.hidden = isConnected === null;
    chip.className = `chip status-${color}`;
    setText(chip.firstElementChild, state);
    setText(chip.lastElementChild, isConnected && pauseS ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : "");
    const clock = document.querySelector("[data-clock]");
    if (!isConnected) return;
    // The rate of a clock that stands is 0.
    const now = Date.parse(clock.dateTime) + passed * Number(clock.dataset.rate);
    const [date, time] = new Date(now).toISOString().split("T");
    setText(clock.firstElementChild, `${date}\u00a0`);
    setText(clock.lastElementChild, time.slice(0, 8));
    for (const each of document.querySelectorAll("[data-span]")) {
      const instant = each.dataset.span === "real" ? Date.now() : now;
      setText(each, spanText(instant - Date.parse(each.dateTime)));
    }
  }

  const UNITS = [["s", 1, 60], ["min", 60, 7200], ["h", 3600, 172800], ["d", 86400, Infinity]];

  // "3 min ago", or "in 24 min" for an instant to come; as `_span` of the server.
  function spanText(passedMs) {
    const isPast = passedMs >= 0;
    const seconds = isPast ? Math.floor(passedMs / 1000) : Math.ceil(-passedMs / 1000);
    const [unit, length] = UNITS.find(([, , limit]) => seconds < limit);
    const count = isPast ? Math.floor(seconds / length) : Math.ceil(seconds / length);
    if (count === 0) return "now";
    return isPast ? `${count} ${unit} ago` : `in ${count} ${unit}`;
  }

  // A screen reader announces a text that is set again, and a new text node would end a selection.
  function setText(element, text) {
    if (element.textContent === text) return;
    if (element.firstChild?.nodeType === Node.TEXT_NODE) element.firstChild.data = text;
    else element.textContent = text;
  }

  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  setInterval(tick, 200);
  listen();

  // The entry that the address names, such as `#evt_…`, is unfolded.

  function openTarget() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.localName === "details") part.open = true;
    target.scrollIntoView({ block: "center" });
  }

  addEventListener("hashchange", openTarget);
  openTarget();

  // A menu closes when something else is pressed.
  document.addEventListener("pointerdown", (event) => {
    const menu = document.querySelector("#menu");
    if (!menu.contains(event.target)) menu.open = false;
  });

  // The keyboard

  document.addEventListener("keydown", (event) => {
    // A key that is held presses a button once.
    if (event.repeat && event.key === "Enter" && event.target.closest("button, input")) event.preventDefault();
    const menu = document.querySelector("#menu");
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.firstElementChild.focus();
    }
    const isInUse = event.target.closest("input, select, textarea") || document.querySelector("dialog[open]");
    if (isInUse || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") {
      document.querySelector("#help").showModal();
    } else if (event.key === "n" && !event.repeat) {
      document.querySelector("[data-testid=advance-next]").click();
    } else if (event.key === "j" || event.key === "k") {
      const rows = [...document.querySelectorAll("[data-row]")];
      const step = event.key === "j" ? 1 : -1;
      const at = rows.findIndex((row) => row.contains(document.activeElement));
      const row = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
      // A webhook's row begins with the link of its payment.
      (row?.querySelector(".event a") ?? row?.querySelector("a[href]"))?.focus();
    }
  });
})();
