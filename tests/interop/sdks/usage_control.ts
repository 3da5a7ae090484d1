// The customer's part in a shop's tests, on the types of the control API.

import createClient from "openapi-fetch";
import type { paths as ControlPaths } from "./control";
import type { paths } from "./payments";

const settings = { baseUrl: "http://127.0.0.1:8080", headers: { Authorization: "Bearer test_demo_key" } };
const payments = createClient<paths>(settings);
const control = createClient<ControlPaths>(settings);

async function create(): Promise<string> {
  const { data, error } = await payments.POST("/v1/payments", {
    body: {
      amount: 15000,
      currency: "ETB",
      methods: ["telebirr"],
      success_url: "https://shop.example/thanks",
      cancel_url: "https://shop.example/cart",
    },
  });
  if (!data) throw new Error(error.error.message);
  return data.id;
}

const paid = await control.POST("/_emulator/payments/{payment_id}/pay", {
  params: { path: { payment_id: await create() } },
  body: { method: "telebirr", phone: "0900000001" },
});
console.log(paid.data?.status);

await create();
const advanced = await control.POST("/_emulator/clock/advance", { body: { seconds: 1800 } });
console.log(...(advanced.data?.effects.map((effect) => effect.type) ?? []));

const wrong = await control.POST("/_emulator/payments/{payment_id}/pay", {
  params: { path: { payment_id: "pay_unknown" } },
  body: { method: "telebirr", phone: "0900000001" },
});
console.log(wrong.response.status, wrong.error?.error.code);
