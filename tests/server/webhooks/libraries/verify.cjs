// Verifies webhooks with the npm package: a JSON line {secret, headers, body} for each comes in,
// and whether it verifies goes out.
const { createInterface } = require("node:readline");
const { Webhook, WebhookVerificationError } = require("standardwebhooks");

function verified({ secret, headers, body }) {
  try {
    new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(`${JSON.stringify(verified(JSON.parse(line)))}\n`);
});
