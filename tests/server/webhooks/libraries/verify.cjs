// Verifies webhooks with the npm package: a JSON line {secret, headers, body} for each comes in,
// and the event goes out, or null where it does not verify.
const { createInterface } = require("node:readline");
const { Webhook, WebhookVerificationError } = require("standardwebhooks");

function verified({ secret, headers, body }) {
  try {
    return new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
  } catch (error) {
    if (error instanceof WebhookVerificationError) return null;
    throw error;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(`${JSON.stringify(verified(JSON.parse(line)))}\n`);
});
