// Verifies webhooks by hand: a JSON line {form, secret, headers, body} for each comes in, and true
// or false goes out.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createInterface } from "node:readline";

const isRecent = (timestamp) => Math.abs(Date.now() / 1000 - timestamp) <= 300;
const hmac = (algorithm, key, ...parts) =>
  parts.reduce((digest, part) => digest.update(part), createHmac(algorithm, key));
const isAnyOf = (expected, given) =>
  given.some((each) => each.length === expected.length && timingSafeEqual(Buffer.from(each), Buffer.from(expected)));

const FORMS = {
  standard(secret, headers, body) {
    const { "webhook-id": id, "webhook-timestamp": time } = headers;
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const expected = `v1,${hmac("sha256", key, `${id}.${time}.`, body).digest("base64")}`;
    return isRecent(time) && isAnyOf(expected, (headers["webhook-signature"] ?? "").split(" "));
  },
  "timestamped-hex"(secret, headers, body) {
    const [time, ...given] = (headers["payments-signature"] ?? "").split(",");
    const seconds = time.replace("t=", "");
    const expected = `v1=${hmac("sha256", secret, `${seconds}.`, body).digest("hex")}`;
    return isRecent(seconds) && isAnyOf(expected, given);
  },
  "hex-header"(secret, headers, body) {
    return isAnyOf(hmac("sha512", secret, body).digest("hex"), [headers["x-signature"] ?? ""]);
  },
  "form-fields"(secret, headers, body) {
    const expected = hmac("sha256", Buffer.from(secret, "hex"), body).digest("base64");
    return isAnyOf(expected, [headers["x-notification-signature"] ?? ""]);
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { form, secret, headers, body } = JSON.parse(line);
  process.stdout.write(`${FORMS[form](secret, headers, Buffer.from(body, "base64"))}\n`);
});
