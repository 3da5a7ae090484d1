import assert from "node:assert";
import { test } from "node:test";

const EMULATOR = "http://127.0.0.1:8080";

async function call(method, path, body, key) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(EMULATOR + path, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function createAccount() {
  return call("POST", "/_emulator/accounts", { clock: "frozen@2026-01-01T00:00:00Z" });
}

test("an unpaid order expires", async () => {
  const { test_key: key } = await createAccount();
  const order = {
    amount: 15000,
    currency: "ETB",
    methods: ["telebirr"],
    success_url: "https://shop.example/thanks",
    cancel_url: "https://shop.example/cart",
  };
  const { id } = await call("POST", "/v1/payments", order, key);
  await call("POST", "/_emulator/clock/advance", { seconds: 1800 }, key);
  const payment = await call("GET", `/v1/payments/${id}`, undefined, key);
  assert.equal(payment.status, "expired");
});
