// The tests of the shop, which each test runner registers with its own functions.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startEmulator } from "./payments-emulator.js";
import type { PaymentsAccount, PaymentsEmulator, Webhook } from "./payments-emulator.js";
import { Shop } from "./shop.js";

type Case = (shop: Shop, account: PaymentsAccount, emulator: PaymentsEmulator) => Promise<void>;
type Runner = {
  test(name: string, body: () => Promise<void>): unknown;
  beforeAll(body: () => Promise<void>): unknown;
  afterAll(body: () => Promise<void>): unknown;
};

const cases: Record<string, Case> = {
  "creates a payment": async (shop, account) => {
    const { id, checkout_url } = await shop.order("1");
    const payment = await account.payment(id);
    assert.deepEqual([payment.status, payment.metadata], ["pending", { order: "1" }]);
    assert.match(checkout_url, /^http:\/\/127\.0\.0\.1:\d+\/c\//);
    const [request] = await account.requests();
    assert.deepEqual([request.method, request.status], ["POST", 201]);
    const live = new Shop({ baseUrl: account.baseUrl, testKey: account.liveKey });
    await assert.rejects(account.payment((await live.order("1")).id), /payment_not_found/);
  },

  "pays with each method": async (shop, account) => {
    const { id } = await shop.order("1");
    assert.equal((await account.pay(id)).method, "telebirr");
    const other = await shop.order("2");
    const waiting = await account.pay(other.id, { phone: "0711223344" });
    assert.deepEqual([waiting.status, waiting.method], ["processing", "mpesa"]);
    assert.equal((await account.answer(other.id, "approve")).status, "completed");
    const paid = await account.pay((await shop.order("3")).id, { method: "mpesa" });
    assert.deepEqual([paid.status, paid.method], ["completed", "mpesa"]);
    const transfer = await shop.order("4");
    const atBank = await account.pay(transfer.id, { method: "bank_transfer" });
    assert.deepEqual([atBank.status, atBank.method], ["processing", "bank_transfer"]);
    assert.equal((await account.answer(transfer.id, "approve")).status, "completed");
  },

  "fails after 30 seconds without an answer": async (shop, account) => {
    const { id } = await shop.order("1");
    await account.pay(id, { phone: "0900000003" });
    await account.advance(29.5);
    assert.equal((await account.payment(id)).status, "processing");
    const effects = await account.advance("500ms");
    assert.deepEqual(effects.map((effect) => effect.payment), [id]);
    assert.equal((await account.payment(id)).status, "failed");
  },

  "verifies webhooks that are delivered to the shop": async (shop, account) => {
    const { statuses, secret, close } = await serve(shop, account);
    const { id } = await shop.order("1");
    await account.pay(id);
    close();
    assert.deepEqual(statuses, [204, 204, 204]);
    assert.deepEqual(shop.shipped, ["1"]);
    const deliveries = await account.deliveries();
    assert.deepEqual(deliveries.map(({ type }) => type), [
      "payment.created", "payment.processing", "payment.completed",
    ]);
    assert.deepEqual(deliveries.map(({ attempts }) => attempts[0].status), statuses);
    const [webhook] = await account.newWebhooks();
    assert.equal(receive(shop, account, webhook), 204);
    assert.equal(shop.receive(webhook!.headers, webhook!.body, secret), 400);
  },

  "checks the shop, and not the inbox of the test": async (shop, account, emulator) => {
    const { close } = await serve(shop, account);
    await account.useScenario("forged-webhooks");
    await account.pay((await shop.order("1")).id);
    assert.equal(await judged(account, "webhook-signature"), "passed");
    close();
    const without = await emulator.createAccount();
    await without.pay((await new Shop(without).order("1")).id);
    assert.equal(await judged(without, "webhook-acknowledged"), "not_exercised");
    assert.equal(await judged(without, "create-idempotent"), "passed");
    await without.delete();
  },

  "ships once after a duplicate webhook": async (shop, account) => {
    await account.useScenario("duplicate-webhooks");
    const { id } = await shop.order("1");
    await account.pay(id);
    const webhooks = await account.newWebhooks();
    const completed = webhooks.filter(({ type }) => type === "payment.completed");
    assert.deepEqual(completed.map(({ payment }) => payment), [id, id]);
    for (const webhook of webhooks) assert.equal(receive(shop, account, webhook), 204);
    assert.deepEqual(shop.shipped, ["1"]);
    assert.deepEqual(await account.newWebhooks(), []);
    assert.deepEqual(await account.webhooks(), webhooks);
  },

  "creates one payment when a response is lost": async (shop, account) => {
    await account.fault("create_payment", { drop: true, point: "after_commit" });
    const { id } = await shop.order("1");
    const requests = await account.requests();
    assert.deepEqual(requests.map(({ replayed }) => replayed), [false, true]);
    assert.deepEqual((await account.webhooks()).map(({ payment }) => payment), [id]);
  },

  "expires after 30 minutes": async (shop, account) => {
    const { id } = await shop.order("1");
    await account.advance("30m");
    assert.equal((await account.payment(id)).status, "expired");
    await assert.rejects(account.pay(id), {
      message: /^payment_not_payable: .*expired/, status: 409, stack: /cases/,
    });
  },

  "refunds a payment": async (shop, account) => {
    const { id } = await shop.order("1");
    await account.pay(id);
    assert.equal((await account.refund(id)).status, "refunded");
    assert.equal((await account.webhooks()).at(-1)?.type, "payment.refunded");
  },

  "cancels a payment, which stays pending": async (shop, account) => {
    const { id } = await shop.order("1");
    assert.equal((await account.cancel(id)).status, "pending");
    assert.equal((await account.transition(id, "expired")).status, "expired");
    await assert.rejects(account.cancel(id), { code: "invalid_state_transition", status: 409 });
  },

  "begins again after a reset": async (shop, account) => {
    await account.deliverTo("http://127.0.0.1:9/webhooks");
    await shop.order("1");
    await account.newWebhooks();
    await account.reset();
    assert.deepEqual([await account.requests(), await account.webhooks()], [[], []]);
    const { id } = await shop.order("1");
    const webhooks = await account.newWebhooks();
    assert.deepEqual(webhooks.map(({ payment, isVerified }) => [payment, isVerified]), [[id, true]]);
    assert.equal(receive(shop, account, webhooks[0]), 204);
    assert.deepEqual([await account.deliveries(), await account.advance(0)], [[], []]);
  },

  "isolates parallel accounts": async (_shop, _account, emulator) => {
    const accounts = await Promise.all([1, 2, 3, 4].map(() => emulator.createAccount()));
    const payments = await Promise.all(accounts.map((account) => new Shop(account).order("1")));
    await Promise.all(accounts.map((account, number) => account.pay(payments[number]!.id)));
    for (const [number, account] of accounts.entries()) {
      const webhooks = await account.webhooks();
      const { id } = payments[number]!;
      assert.deepEqual(webhooks.map(({ payment }) => payment), [id, id, id]);
      await assert.rejects(account.payment(payments[(number + 1) % 4]!.id), /payment_not_found/);
      await account.delete();
    }
  },

  "repeats a request with an idempotency key": async (shop, account) => {
    const first = await shop.order("1");
    assert.deepEqual(await shop.order("1"), first);
    await assert.rejects(shop.order("1", 20_000), /409 idempotency_key_reused/);
    assert.equal((await account.webhooks()).length, 1);
    await assert.rejects(account.advance("30 sec"), /'30 sec' is not a duration: .* such as '30s'/);
  },
};

export function register({ test, beforeAll, afterAll }: Runner): void {
  let emulator: PaymentsEmulator;
  beforeAll(async () => {
    emulator = await startEmulator({ serve: ["--seed", "1"] });
  });
  afterAll(() => emulator.stop());
  for (const [name, body] of Object.entries(cases))
    test(name, async () => {
      const account = await emulator.createAccount();
      const testKey = process.env["PAYMENTS_EMULATOR_TEST_KEY"] ?? account.testKey;
      await body(new Shop({ ...account, testKey }), account, emulator);
      await account.delete();
    });
}

/** The shop's server of webhooks, whose address the emulator knows. */
async function serve(shop: Shop, account: PaymentsAccount) {
  const statuses: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = request.headers as Record<string, string>;
    response.statusCode = shop.receive(headers, Buffer.concat(chunks), secret);
    statuses.push(response.statusCode);
    response.end();
  });
  // A test that fails does not close it.
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { secret } = await account.deliverTo(`http://127.0.0.1:${port}/webhooks`);
  return { statuses, secret, close: () => server.close() };
}

async function judged(account: PaymentsAccount, item: string): Promise<string> {
  return (await account.checklist()).find(({ id }) => id === item).result;
}

function receive(shop: Shop, account: PaymentsAccount, webhook: Webhook | undefined): number {
  assert.ok(webhook);
  return shop.receive(webhook.headers, webhook.body, account.webhookSecret);
}
