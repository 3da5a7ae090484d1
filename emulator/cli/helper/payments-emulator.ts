/* eslint-disable */
// Test helper for the payments emulator: node:test, Vitest and Jest on Node.js 20 or newer.
// `payments-emulator helper node` prints this file; run it again after an update.

import { spawn } from "node:child_process";
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** The payment object of the API. */
export interface Payment {
  id: string; object: "payment"; amount: number; currency: string;
  status: "pending" | "processing" | "completed" | "failed" | "expired" | "refunded";
  method: string | null; checkout_url: string;
  success_url: string;
  cancel_url: string;
  metadata: Record<string, string>; created_at: string; expires_at: string; completed_at: string | null;
}

/** A received webhook: header names are lower case, and `body` has the signed bytes. */
export interface Webhook {
  id: string; type: string; payment: string; headers: Record<string, string>; body: Buffer;
  /** Whether the signature is correct, and its timestamp at most five minutes old. */
  isVerified: boolean;
}

/** An address that receives webhooks; `secret` verifies them, and `format` is their form. */
export interface Endpoint {
  id: string; url: string; secret: string; format: any;
}

/** A merchant's account. When a call returns, webhooks that were due have been delivered. */
export interface PaymentsAccount {
  id: string; baseUrl: string; testKey: string; liveKey: string;
  /** The secret that verifies `webhooks()`. */
  webhookSecret: string;
  /** Pays as on the checkout page. The default is a phone or bank whose payments succeed. A
   *  `bank_transfer` stays `processing` until `answer`. */
  pay(id: string, by?: { method?: string; phone?: string; bank?: string }): Promise<Payment>;
  /** Answers on the phone or at the bank: "approve", "cancel", "wrong_pin" etc. */
  answer(id: string, answer: string): Promise<Payment>;
  /** Presses the page's cancel button, which leaves the payment pending. */
  cancel(id: string): Promise<Payment>;
  refund(id: string): Promise<Payment>;
  /** Sets a status by any legal transition, also before it is due. */
  transition(id: string, status: Payment["status"]): Promise<Payment>;
  /** Advances the clock by "30s" or by 30 (seconds); returns what happened. */
  advance(span: string | number): Promise<any[]>;
  /** Enables one of the emulator's scenarios. */
  useScenario(name: string): Promise<any>;
  /** Makes one request fail: `fault("create_payment", { drop: true, point: "after_commit" })`. */
  fault(request: string, then: object): Promise<any>;
  /** The webhooks that the test received, in order of arrival. */
  webhooks(): Promise<Webhook[]>;
  /** The webhooks since the last call, for the merchant's handler. */
  newWebhooks(): Promise<Webhook[]>;
  /** Also sends later webhooks to the merchant's application. `format` is the name of a form of
   *  webhooks, or the form; the default is that of the emulator. */
  deliverTo(url: string, secret?: string, format?: string | object): Promise<Endpoint>;
  /** The webhooks that the merchant's application was sent, with all attempts, the oldest first. */
  deliveries(): Promise<any[]>;
  payment(id: string): Promise<Payment>;
  /** The requests of the merchant's code and their responses, the oldest first. */
  requests(): Promise<any[]>;
  /** What the merchant's integration does right and wrong, without the webhooks of the test. */
  checklist(): Promise<any[]>;
  /** Any call of the control API, such as `control("PUT", "/clock", { frozen: false })`. */
  control(method: string, path: string, body?: object): Promise<any>;
  /** Restores the initial state, without the payments, faults and endpoints of the test. */
  reset(): Promise<void>;
  delete(): Promise<void>;
}

/** A running emulator; `baseUrl` is the API root for the merchant's code. */
export interface PaymentsEmulator {
  baseUrl: string; checkoutUrl: string;
  /** The options are those of `POST /accounts`; the default clock does not move by itself. */
  createAccount(
    options?: {
      clock?: string; seed?: number; name?: string; test_key?: string; live_key?: string;
      vary?: string | number;
    },
  ): Promise<PaymentsAccount>;
  /** Ends the emulator, unless it is that of PAYMENTS_EMULATOR_URL. */
  stop(): Promise<void>;
}

type Server = { baseUrl: string; checkoutUrl: string; log: string; end(): Promise<void> };
type Inboxes = Map<string | undefined, (headers: http.IncomingHttpHeaders, body: Buffer) => void>;
type Receive = (inboxes: Inboxes, host?: string) => Promise<{ url: string; close(): void }>;
type Send = (url: string, method: string, body?: object, key?: string, log?: string) => Promise<any>;
type Options = { serve?: string[]; webhookHost?: string };

const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
// Runs the emulator until the test process closes this process's standard input, or is killed.
const LAUNCHER = `
  const [directory, command, ...options] = process.argv.slice(1);
  const stdio = ["ignore", "inherit", "inherit"];
  const server = require("node:child_process").spawn(command, options, { stdio });
  server.on("error", (error) => process.exit(error.code === "ENOENT" ? 127 : 126));
  server.on("exit", (code) => {
    if (server.killed) require("node:fs").rmSync(directory, { recursive: true, force: true });
    process.exit(code ?? 1);
  });
  process.stdin.resume().on("end", () => server.kill());`;

/** Uses the emulator at PAYMENTS_EMULATOR_URL, or starts one with PAYMENTS_EMULATOR_COMMAND.
 *  `serve` has more options of `payments-emulator serve`, such as `["--seed", "1"]`. By
 *  `webhookHost` an emulator in a container reaches the tests. */
export const startEmulator: (options?: Options) => Promise<PaymentsEmulator> = async (options = {}) => {
  const external = process.env["PAYMENTS_EMULATOR_URL"];
  const sharedSecret = process.env["PAYMENTS_EMULATOR_WEBHOOK_SECRET"] || undefined;
  const sharedKey = (external && process.env["PAYMENTS_EMULATOR_TEST_KEY"]) || undefined;
  const server = await (external ? connect(external) : launch(options.serve ?? []));
  const { baseUrl, checkoutUrl, log, end } = server;
  const inboxes: Inboxes = new Map();
  const receiver = await receive(inboxes, options.webhookHost);

  const createAccount: PaymentsEmulator["createAccount"] = async (options = {}) => {
    const body = { clock: "frozen@2026-01-01T00:00:00Z", ...options };
    const create: (key?: string) => Promise<any> = (key) =>
      send(`${baseUrl}/_emulator/accounts`, "POST", { takes_over: key, ...body }, "", log);
    // Without the key if another account has it, or if it is not that of the first account.
    const account = await create(sharedKey).catch((error) =>
      error.param === "takes_over" ? create() : Promise.reject(error));
    const { id, test_key: testKey, live_key: liveKey } = account;
    const control: PaymentsAccount["control"] = async (method, path, body) => {
      if (!path.startsWith("/")) throw new Error(`'${path}' is not a path such as '/clock'`);
      return send(`${baseUrl}/_emulator${path}`, method, body, testKey, log);
    };
    const deliverTo: PaymentsAccount["deliverTo"] = (url, secret, format) =>
      control("POST", "/webhook_endpoints", { url, secret: secret ?? sharedSecret, format });
    const received: Webhook[] = [];
    let seen = 0;
    inboxes.set(`/${id}`, (headers, body) => received.push(read(endpoint, headers, body)));
    const inboxUrl = `${receiver.url}/${id}`;
    let endpoint = await deliverTo(inboxUrl);
    const endpointPath = `/webhook_endpoints/${endpoint.id}`;
    // Webhooks of an emulator that runs elsewhere may not arrive.
    const ping = external && (await control("POST", `${endpointPath}/ping`));
    const isReached = !ping || ping.status === "succeeded";
    if (!isReached) await control("DELETE", endpointPath);
    received.length = 0;

    const advance: PaymentsAccount["advance"] = async (span) => {
      const advanced = await control("POST", "/clock/advance", { seconds: seconds(span) });
      if (!advanced.settled)
        throw new Error(`the clock stopped at ${advanced.now}: a webhook receiver is too slow`);
      return advanced.effects.filter((effect: any) => effect.endpoint !== endpoint.id);
    };
    const listed: (path: string) => Promise<any[]> = async (path) =>
      (await control("GET", `${path}?limit=1000`)).data.reverse();
    const act: (id: string, action: string, body?: object) => Promise<Payment> = async (id, action, body) => {
      const payment = await control("POST", `/payments/${encodeURIComponent(id)}/${action}`, body);
      await advance(0);
      return payment;
    };
    const webhooks: PaymentsAccount["webhooks"] = async () => {
      if (!isReached)
        throw new Error(`webhooks of the payments emulator at ${baseUrl} do not reach the tests at` +
          ` ${receiver.url}; set the option webhookHost, such as host.docker.internal`);
      await advance(0);
      return [...received];
    };
    return {
      id, baseUrl, testKey, liveKey, webhookSecret: endpoint.secret, control, deliverTo, advance, webhooks,
      pay: (id, by = {}) => act(id, "pay", by),
      answer: (id, answer) => act(id, "answer", { answer }),
      cancel: (id) => act(id, "cancel"),
      refund: (id) => act(id, "transition", { status: "refunded" }),
      transition: (id, status) => act(id, "transition", { status }),
      useScenario: (name) =>
        control("PUT", `/scenarios/${encodeURIComponent(name)}/enabled`, { enabled: true }),
      fault: (request, then) => control("POST", "/faults", { when: { request }, then, times: 1 }),
      deliveries: async () => {
        await advance(0);
        return (await listed("/deliveries")).filter((delivery) => delivery.endpoint !== endpoint.id);
      },
      newWebhooks: async () => (await webhooks()).slice(seen, (seen = received.length)),
      payment: async (id) => (await control("GET", `/payments/${encodeURIComponent(id)}`)).payment,
      requests: () => listed("/requests"),
      checklist: async () => {
        await advance(0);
        const query = isReached ? `?exclude_endpoint=${endpoint.id}` : "";
        return (await control("GET", `/checklist${query}`)).data;
      },
      reset: async () => {
        await control("POST", "/reset");
        if (isReached) endpoint = await deliverTo(inboxUrl, endpoint.secret);
        received.length = seen = 0;
      },
      delete: async () => {
        await control("DELETE", `/accounts/${id}`);
        inboxes.delete(`/${id}`);
      },
    };
  };
  return { baseUrl, checkoutUrl, createAccount, stop: () => (receiver.close(), end()) };
};

const connect: (url: string) => Promise<Server> = async (url) => {
  const baseUrl = url.replace(/(\/v1)?\/*$/, "");
  try {
    const { checkout } = await send(`${baseUrl}/_emulator/`, "GET");
    return { baseUrl, checkoutUrl: checkout, log: "", end: async () => {} };
  } catch (error) {
    const { message } = error as Error;
    const expected = "expected the API address that 'serve' prints";
    throw new Error(`PAYMENTS_EMULATOR_URL is '${url}': ${message}; ${expected}`);
  }
};

const launch: (options: string[]) => Promise<Server> = async (options) => {
  const command = process.env["PAYMENTS_EMULATOR_COMMAND"] || "payments-emulator";
  const words = existsSync(command) ? [command] : command.trim().split(/\s+/);
  const directory = mkdtempSync(join(tmpdir(), "payments-emulator-"));
  const [ready, log] = [join(directory, "ready.json"), join(directory, "emulator.log")];
  const output = openSync(log, "w");
  words.push("serve", "--port", "0", "--checkout-port", "0", "--allow-http-localhost");
  words.push("--ready-file", ready, ...options);
  const variables = Object.entries(process.env).filter(([name]) => !/^EMULATOR_|^NODE_OPT/.test(name));
  const launcher = spawn(process.execPath, ["-e", LAUNCHER, "--", directory, ...words], {
    stdio: ["pipe", output, output], env: Object.fromEntries(variables), detached: true, windowsHide: true,
  });
  const end: Server["end"] = async () => {
    launcher.ref();
    launcher.stdin?.end();
    if (launcher.exitCode === null) await once(launcher, "exit");
  };
  for (let polls = 0; !existsSync(ready); polls += 1) {
    if (launcher.exitCode !== null || polls === 1_500) {
      const reason = readFileSync(log, "utf8").trim() || `exit code ${launcher.exitCode}`;
      await end();
      rmSync(directory, { recursive: true, force: true });
      if (launcher.exitCode !== 127) throw new Error(`'${command} serve' did not start: ${reason}`);
      throw new Error(`the command '${words[0]}' was not found: install etb-payments-emulator or` +
        " activate its Python environment, or set PAYMENTS_EMULATOR_COMMAND or PAYMENTS_EMULATOR_URL");
    }
    await delay(20);
  }
  launcher.unref();
  const { api, checkout } = JSON.parse(readFileSync(ready, "utf8"));
  return { baseUrl: api, checkoutUrl: checkout, log, end };
};

const receive: Receive = async (inboxes, host) => {
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    inboxes.get(request.url)?.(request.headers, Buffer.concat(chunks));
    response.writeHead(204).end();
  });
  server.listen(0, host ? "0.0.0.0" : "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://${host ?? "127.0.0.1"}:${port}`, close: () => server.close() };
};

// Reads a webhook in the form of its endpoint.
const read: (endpoint: Endpoint, all: http.IncomingHttpHeaders, body: Buffer) => Webhook = (endpoint, all, body) => {
  const { format } = endpoint;
  const text = body.toString();
  const isJson = format.content_type === "application/json";
  const event = isJson ? parse(text) : Object.fromEntries(new URLSearchParams(text));
  const names = ["content-type", "user-agent", ...Object.keys(format.headers)];
  const shown = Object.entries(all).filter(([name]) => names.includes(name));
  const headers = Object.fromEntries(shown.map(([name, value]) => [name, String(value)]));
  const values = { ...valuesIn(format.body, event), ...valuesIn(format.headers, headers) };
  values["id"] ??= values["event.id"];
  const data = values["payment"] ?? { id: values["payment.id"], status: values["payment.status"] };
  // The emulator's name of the event; that of the status where the form has none, or has it twice.
  const sent = values["event.type"];
  const own = Object.keys(format.events).filter((name) => sent && format.events[name] === sent);
  const isUnclear = data.status && (!sent || own.length > 1);
  const type = isUnclear ? `payment.${data.status === "pending" ? "created" : data.status}` : own[0] ?? sent;
  return { id: values["id"], type, payment: data.id, headers, body, isVerified: isVerified(endpoint, values, body) };
};

const PLACEHOLDER = /\{([^{}]+)\}/;

// The values at the placeholders of a template, in what was received.
const valuesIn: (template: any, received: any) => Record<string, any> = (template, received) => {
  if (typeof template === "string") {
    const parts = template.split(PLACEHOLDER);
    const names = parts.filter((_, index) => index % 2);
    if (names.length === 1 && parts.join("") === names[0]) return { [names[0]]: received };
    const texts = parts.map((part, index) => (index % 2 ? "(.*?)" : part.replace(/\W/g, "\\$&")));
    const [, ...found] = new RegExp(`^${texts.join("")}$`, "s").exec(received) ?? [];
    return Object.fromEntries(names.map((name, index) => [name, found[index]]));
  }
  if (!template || !received || typeof received !== "object") return {};
  const keys = Object.keys(template).filter((key) => key in received);
  return Object.assign({}, ...keys.map((key) => valuesIn(template[key], received[key])));
};

// The value at a placeholder, or the one that follows from the values at others.
const valueOf: (values: Record<string, any>, name: string) => any = (values, name) => {
  if (name in values) return values[name];
  if (name === "event.id") return values["id"];
  if (name === "payment.amount_birr") {
    const cents = String(valueOf(values, "payment.amount")).padStart(3, "0");
    return `${cents.slice(0, -2)}.${cents.slice(-2)}`;
  }
  const whole = name.startsWith("payment.metadata.") ? "payment.metadata" : "payment";
  if (!name.startsWith(`${whole}.`)) return undefined;
  return valueOf(values, whole)?.[name.slice(whole.length + 1)];
};

const isVerified: (endpoint: Endpoint, values: Record<string, any>, body: Buffer) => boolean = (
  { format, secret }, values, body,
) => {
  const { algorithm, content, encoding, prefix, separator, secret: kind } = format.signature;
  const hasTime = Object.values(format.headers).join().includes("{timestamp}");
  const isOld = hasTime && !(Math.abs(Date.now() / 1_000 - values["timestamp"]) <= 300);
  if (algorithm === "none" || isOld) return false;
  const key = kind === "text" ? secret : Buffer.from(secret.replace(/^whsec_/, ""), kind);
  const signature: () => string = () => {
    const hmac = createHmac(algorithm.replace("hmac-", ""), key);
    for (const [index, part] of content.split(PLACEHOLDER).entries()) {
      const value = index % 2 === 0 ? part : part === "body" ? body : valueOf(values, part) ?? "";
      hmac.update(typeof value === "string" || value === body ? value : JSON.stringify(value));
    }
    return hmac.digest(encoding);
  };
  const expected = Buffer.from(prefix + (algorithm === "token" ? secret : signature()));
  const sent = String(values["signature"]);
  const given = (separator ? sent.split(separator) : [sent]).map((each) => Buffer.from(each));
  return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
};

const send: Send = (url, method, body, key, log) =>
  new Promise((resolve, reject) => {
    // The lines of the test: the stack of a callback does not contain them.
    const calls = (new Error().stack ?? "").split("\n").slice(1);
    const lines = calls.filter((line) => !/payments-emulator\.m?[jt]s:|new Promise/.test(line));
    const fail: (message: string, more?: object) => void = (message, more) => {
      const stack = [`Error: ${message}`, ...lines].join("\n");
      reject(Object.assign(new Error(message), more, { stack }));
    };
    const headers: Record<string, string> = {};
    if (key) headers["authorization"] = `Bearer ${key}`;
    if (body) headers["content-type"] = "application/json";
    const { request: open } = url.startsWith("https:") ? https : http;
    const request = open(url, { method, headers, timeout: 90_000 }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      const [status, value] = [response.statusCode ?? 0, parse(text)];
      if (status === 204 || (status < 400 && value)) return resolve(value);
      const { code, message, param } = value?.error ?? {};
      const foreign = `${method} ${url} returned ${status}: this is not a payments emulator`;
      fail(code ? `${code}: ${message}` : foreign, { status, code, param });
    });
    request.on("timeout", () => request.destroy(new Error("no response within 90 s")));
    request.on("error", (error: NodeJS.ErrnoException) => {
      const reason = `${error.message || error.code}${log ? `; see its log ${log}` : ""}`;
      const [baseUrl] = url.split("/_emulator");
      fail(`the payments emulator at ${baseUrl} does not respond: ${reason}`);
    });
    request.end(body && JSON.stringify(body));
  });

const parse: (text: string) => any = (text) => {
  try { return JSON.parse(text); } catch { return undefined; }
};

const seconds: (span: string | number) => number = (span) => {
  if (typeof span === "number") return span;
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(span) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs) return Math.round(Number(amount) * unitMs) / 1_000;
  throw new Error(
    `'${span}' is not a duration: use seconds, or a number with ms, s, m, h or d, such as '30s'`,
  );
};
