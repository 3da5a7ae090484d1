// Writes what a call of the control API did, in one sentence.
"use strict";

const sentences = (() => {
  const MAX_PARTS = 6;

  // A text with the members of a response in place of their names.
  function filled(text, members, encode = (value) => value) {
    return text.replace(/\{(\w+)\}/g, (_, name) => encode(
      name === "now" ? moment(members.now) : members[name],
    ));
  }

  const moment = (instant) => instant.slice(0, 19).replace(/T/, " ");

  // "22:33 → 23:03: 1 payment expired, 1 webhook answered 200."
  function advanced(before, { now, effects, settled }) {
    const instants = [before.replace(/\s/, " "), moment(now)];
    const [from, to] = instants;
    const first = from.slice(0, 10) === to.slice(0, 10) ? 11 : 0;
    const last = from.slice(17) === to.slice(17) ? 16 : 19;
    const counts = new Map();
    for (const effect of effects) {
      const [noun, what] = effect.kind === "webhook_attempt"
        ? ["webhook", effect.response_status ? `answered ${effect.response_status}` : `failed (${effect.error})`]
        : ["payment", effect.reason ? `${effect.status} (${effect.reason})` : effect.status];
      const kind = `${noun} ${what}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    const parts = [...counts].map(([kind, count]) =>
      `${count} ${count === 1 ? kind : kind.replace(" ", "s ")}`);
    const shown = parts.slice(0, MAX_PARTS);
    if (parts.length > shown.length) shown.push(`${parts.length - shown.length} more kinds of effects`);
    const text = `${instants.map((each) => each.slice(first, last)).join(" → ")}: ${shown.join(", ") || "nothing was due"}.`;
    return settled ? text : `${text} A limit stopped the clock; advance again to continue.`;
  }

  // "Attempt 2 of payment.created: answered 200."
  function delivered({ type, attempts, next_attempt_at: next }) {
    const attempt = attempts.at(-1);
    if (!attempt) return `No attempt of ${type} was made.`;
    const result = attempt.status ? `answered ${attempt.status}` : `failed (${attempt.error})`;
    const rest = next ? `; the next attempt is at ${moment(next)}` : "";
    return `Attempt ${attempt.number} of ${type}: ${result}${rest}.`;
  }

  // "Step 3 failed: status: expected completed, got pending."
  function ran(steps) {
    const { result } = steps.at(-1);
    return result.startsWith("failed: ") ? `Step ${steps.length} ${result}.` : `All ${steps.length} steps succeeded.`;
  }

  return { filled, advanced, delivered, ran };
})();
