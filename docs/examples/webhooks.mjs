import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";

const PAYMENTS = `${process.env.PAYMENTS_URL ?? "http://127.0.0.1:8080"}/v1/payments`;
const KEY = process.env.PAYMENTS_KEY ?? "test_demo_key";
const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// A real shop uses tables, and changes both in one transaction.
const webhooks = new Set();
const orders = new Map();
const STATES = ["open", "closed", "paid", "refunded"]; // an order only moves forward in this list
const STATE_AFTER = { failed: 1, expired: 1, completed: 2, refunded: 3 };

async function start(amount) {
  // First the order: a webhook may arrive before the response to create.
  const number = String(orders.size + 1);
  orders.set(number, { amount, state: 0, shipments: 0 });
  const url = `https://shop.example/orders/${number}`;
  const payment = await create({
    amount, currency: "ETB", methods: ["telebirr"], success_url: url, cancel_url: url,
    metadata: { order: number }, idempotency_key: `order-${number}`,
  });
  return { order: number, checkout_url: payment.checkout_url };
}

async function create(body, tries = 3) {
  const response = await call("", body).catch(() => undefined); // undefined: it is lost
  if (response?.ok) return response.json();
  if (tries === 1) throw new Error("the API does not answer");
  // With the same key, a lost response makes no second payment.
  await sleep(1000 * (response?.headers.get("Retry-After") ?? 0.2));
  return create(body, tries - 1);
}

const call = (path, body) =>
  fetch(PAYMENTS + path, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(5000),
  });

async function statusAfter(headers, body) {
  let event;
  try {
    event = webhook.verify(body, headers);
  } catch {
    return 400;
  }
  if (!event.type.startsWith("payment.")) return 204; // a ping
  const response = await call(`/${event.data.id}`);
  if (!response.ok) return 503; // the emulator retries
  note(headers["webhook-id"], await response.json());
  return 204;
}

function note(webhookId, payment) {
  if (webhooks.has(webhookId)) return;
  webhooks.add(webhookId);
  const order = orders.get(payment.metadata.order);
  const state = STATE_AFTER[payment.status] ?? 0;
  if (!order || order.amount !== payment.amount || state <= order.state) return;
  order.state = state;
  if (STATES[state] === "paid") order.shipments += 1; // a job sends the parcel
  console.log(`order ${payment.metadata.order} is ${STATES[state]}`);
}

async function answer({ method, url, headers }, body) {
  if (url === "/webhooks") return [await statusAfter(headers, body)];
  if (method === "POST") return [201, await start(JSON.parse(body).amount)];
  const { state, shipments } = orders.get(url.split("/").pop());
  return [200, { state: STATES[state], shipments }];
}

createServer(async (request, response) => {
  const chunks = []; // the raw bytes: the signature covers these
  for await (const chunk of request) chunks.push(chunk);
  const [status, value] = await answer(request, Buffer.concat(chunks)).catch(() => [503]);
  response.writeHead(status).end(value && JSON.stringify(value));
}).listen(4000, "127.0.0.1");
