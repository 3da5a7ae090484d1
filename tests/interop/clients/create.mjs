// Sends its standard input with both clients that Node.js has.
import { request } from "node:http";
import { text } from "node:stream/consumers";

const [url, key] = process.argv.slice(2);
const body = await text(process.stdin);
const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };

const fetched = await fetch(url, { method: "POST", headers, body });
console.log(fetched.status, await fetched.text());

const response = await new Promise((resolve, reject) => {
  request(url, { method: "POST", headers }, resolve).on("error", reject).end(body);
});
console.log(response.statusCode, await text(response));
