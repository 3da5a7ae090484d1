// A correct, tolerant client of the contract plays a history with each value of `vary` in its arguments.
import assert from "node:assert";
import { startEmulator } from "./payments-emulator.mjs";

const ORDER = {
  currency: "ETB", methods: ["telebirr"],
  success_url: "https://shop.example/paid", cancel_url: "https://shop.example/cart",
};

class Client {
  states = new Map();
  seen = new Set();

  constructor(account) {
    this.account = account;
  }

  async send(path, body, key = this.account.testKey) {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const options = { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) };
    const response = await fetch(`${this.account.baseUrl}/v1/payments${path}`, options);
    const text = await response.text();
    return { status: response.status, text, json: JSON.parse(text), retryAfter: response.headers.get("retry-after") };
  }

  async create(number) {
    const metadata = { order: `${number}`, created_at: "2026-01-01T00:00:00.000Z" };
    const answer = await this.send("", { ...ORDER, amount: 100 * number, idempotency_key: `order-${number}`, metadata });
    if (answer.status < 300) {
      assert.deepEqual(answer.json.metadata, metadata);
      if (!this.states.has(answer.json.id)) this.states.set(answer.json.id, answer.json.status);
    }
    return answer;
  }

  async listed() {
    let page = (await this.send("?limit=2")).json;
    const payments = [...page.data];
    while (page.has_more) {
      page = (await this.send(`?limit=2&after=${page.next_cursor}`)).json;
      payments.push(...page.data);
    }
    assert.equal(page.next_cursor ?? null, null);
    return payments;
  }

  async receive(event) {
    const id = event.data?.id;
    if (this.seen.has(event.id) || !this.states.has(id)) return;
    this.seen.add(event.id);
    if (["payment.completed", "payment.failed"].includes(event.type))
      this.states.set(id, (await this.send(`/${id}`)).json.status);
  }
}

// A client decides by the status where it does not know the code.
const CODES = { 401: "invalid_api_key", 404: "payment_not_found", 409: "idempotency_key_reused" };
const known = (status, code) => (code === "unusual_condition" ? CODES[status] : code);
const refusal = ({ status, json }) => [status, known(status, json.error.code), json.error.param ?? null];
const seconds = (text) => (/^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000);

async function play(account) {
  const client = new Client(account);
  const first = await client.create(1);
  const payment = first.json;
  assert.deepEqual([first.status, payment.status, payment.method ?? null], [201, "pending", null]);
  assert.equal(Date.parse(payment.expires_at) - Date.parse(payment.created_at), 1_800_000);
  for (let replay = 0; replay < 3; replay++) assert.equal((await client.create(1)).text, first.text);
  assert.deepEqual(refusal(await client.send("", { ...ORDER, amount: 1 })), [400, "invalid_amount", "amount"]);
  const conflict = await client.send("", { ...ORDER, amount: 999, idempotency_key: "order-1" });
  assert.deepEqual(refusal(conflict).slice(0, 2), [409, "idempotency_key_reused"]);
  assert.deepEqual(refusal(await client.send("/pay_unknown")).slice(0, 2), [404, "payment_not_found"]);
  const unknown = await client.send("", undefined, "test_unknown_key");
  assert.deepEqual(refusal(unknown).slice(0, 2), [401, "invalid_api_key"]);
  for (let number = 2; number < 6; number++) await client.create(number);
  const listed = (await client.listed()).map((each) => each.id);
  assert.equal(listed.length, new Set(listed).size);
  const mine = [...client.states.keys()];
  assert.ok(mine.every((id) => listed.includes(id)));
  for (const status of [429, 409]) {
    await account.control("POST", "/faults", { when: {}, then: { status, retry_after: 2 }, times: 1 });
    const refused = await client.send(`/${payment.id}`);
    assert.equal(refused.status, status);
    const wait = seconds(refused.retryAfter);
    assert.ok(wait > -60 && wait <= 4, refused.retryAfter);
  }
  const retrieved = (await client.send(`/${payment.id}`)).json;
  assert.deepEqual([retrieved.id, retrieved.amount], [payment.id, 100]);
  await account.pay(mine[0], { phone: "0900000001" });
  await account.pay(mine[1], { phone: "0900000002" });
  for (const webhook of await account.webhooks()) await client.receive(JSON.parse(webhook.body));
  assert.deepEqual([...client.states.values()], ["completed", "failed", "pending", "pending", "pending"]);
}

const emulator = await startEmulator();
let failures = 0;
for (const vary of process.argv.slice(2)) {
  const account = await emulator.createAccount({ vary, seed: 1, clock: "frozen@2026-01-01T00:00:00.123Z" });
  try {
    await play(account);
  } catch (error) {
    failures++;
    console.log(`${vary}: ${error.stack}`);
  }
  await account.delete();
}
console.log(`${failures} failures`);
await emulator.stop();
