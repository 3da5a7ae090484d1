// A shop's program on the types that openapi-typescript makes.

import createClient from "openapi-fetch";
import type { components, paths } from "./payments";

const headers = { Authorization: "Bearer test_demo_key" };
const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8080", headers });

const order: components["schemas"]["CreatePayment"] = {
  amount: 15000,
  currency: "ETB",
  methods: ["telebirr", "mpesa"],
  success_url: "https://shop.example/አመሰግናለሁ",
  cancel_url: "https://shop.example/cart",
  metadata: { customer: "አበበ" },
  idempotency_key: "order-1042",
};

const { data: payment, error } = await client.POST("/v1/payments", { body: order });
if (!payment) throw new Error(error.error.message);
console.log("created", payment.id, payment.status, payment.amount, payment.metadata.customer);

const again = await client.POST("/v1/payments", { body: order });
console.log("retried", again.data?.id);

const path = { id: payment.id };
const retrieved = await client.GET("/v1/payments/{id}", { params: { path } });
console.log("retrieved", retrieved.data?.id, retrieved.data?.success_url, retrieved.data?.method ?? "-");

type Query = paths["/v1/payments"]["get"]["parameters"]["query"];

async function list(query: Query): Promise<components["schemas"]["PaymentList"]> {
  const { data, error } = await client.GET("/v1/payments", { params: { query } });
  if (!data) throw new Error(error.error.message);
  return data;
}

let page = await list({ limit: 2 });
console.log("page", ...page.data.map((one) => one.id));
while (page.next_cursor) {
  page = await list({ limit: 2, after: page.next_cursor });
  console.log("page", ...page.data.map((one) => one.id));
}

const created_gte = payment.created_at;
const narrowed = await list({ status: "completed", method: "telebirr", created_gte });
console.log("narrowed", ...narrowed.data.map((one) => one.id));

type Refused = { response: Response; error?: components["schemas"]["Error"] };

function printRefusal({ response, error }: Refused) {
  console.log(response.status, error?.error.code, error?.error.param ?? "-");
}

const small = { ...order, amount: 99 };
const unknown = { id: "pay_unknown" };
const stranger = { Authorization: "Bearer sk_demo" };
printRefusal(await client.POST("/v1/payments", { body: small }));
printRefusal(await client.GET("/v1/payments/{id}", { params: { path }, headers: stranger }));
printRefusal(await client.GET("/v1/payments/{id}", { params: { path: unknown } }));
printRefusal(await client.POST("/v1/payments", { body: { ...order, amount: 20000 } }));
