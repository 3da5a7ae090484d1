import { createServer } from "node:http";

const { PORT = "3000", PAYMENTS_URL = "http://127.0.0.1:8080", PAYMENTS_KEY = "test_demo_key" } = process.env;
const shop = `http://127.0.0.1:${PORT}`;

createServer(async (request, response) => {
  if (request.method !== "POST") {
    const page = request.url === "/thanks" ? "<h1>Thank you</h1>" : "<form method=post><button>Buy</button></form>";
    return response.setHeader("content-type", "text/html").end(page);
  }
  const created = await fetch(`${PAYMENTS_URL}/v1/payments`, {
    method: "POST",
    headers: { Authorization: `Bearer ${PAYMENTS_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify({
      amount: 15000, currency: "ETB", methods: ["telebirr", "mpesa"],
      success_url: `${shop}/thanks`, cancel_url: `${shop}/`,
    }),
  });
  response.writeHead(303, { location: (await created.json()).checkout_url }).end();
}).listen(Number(PORT), "127.0.0.1");
