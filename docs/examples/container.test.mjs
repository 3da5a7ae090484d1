import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { GenericContainer, Wait } from "testcontainers";

let container;
let api;

async function call(method, path, body, key) {
  const headers = {
    ...(body && { "Content-Type": "application/json" }),
    ...(key && { Authorization: `Bearer ${key}` }),
  };
  const response = await fetch(api + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

before(async () => {
  container = await new GenericContainer("etb-payments-emulator")
    .withExposedPorts(8080, 8081)
    .withWaitStrategy(Wait.forHealthCheck())
    .start();
  const host = container.getHost();
  api = `http://${host}:${container.getMappedPort(8080)}`;
  const url = `http://${host}:${container.getMappedPort(8081)}`;
  await call("PUT", "/_emulator/checkout_url", { url });
});

after(() => container?.stop());

test("an unpaid order expires", async () => {
  const { test_key: key } = await call("POST", "/_emulator/accounts", { clock: "frozen" });
  const order = {
    amount: 15000,
    currency: "ETB",
    methods: ["telebirr"],
    success_url: "https://shop.example/thanks",
    cancel_url: "https://shop.example/cart",
  };
  const payment = await call("POST", "/v1/payments", order, key);
  assert.equal((await fetch(payment.checkout_url)).status, 200);
  await call("POST", "/_emulator/clock/advance", { seconds: 1800 }, key);
  const unpaid = await call("GET", `/v1/payments/${payment.id}`, undefined, key);
  assert.equal(unpaid.status, "expired");
  assert.equal((await fetch(payment.checkout_url)).status, 410);
});
