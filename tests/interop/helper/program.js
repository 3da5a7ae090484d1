// program.js start HOST [OPTION…] | wait | secrets SECRET | forms NAME
import { startEmulator } from "./payments-emulator.js";
import { Shop } from "./shop.js";

const [mode, argument, ...serve] = process.argv.slice(2);

// Prints the emulator's addresses and the number of webhooks, or what prevents them.
const start = async (options) => {
  try {
    const emulator = await startEmulator(options);
    const webhooks = await (await emulator.createAccount()).webhooks();
    console.log(emulator.baseUrl, emulator.checkoutUrl, webhooks.length);
    if (mode === "wait") await new Promise((resolve) => setTimeout(resolve, 600_000));
    await emulator.stop();
  } catch (error) {
    console.log(error.message);
  }
};

// Prints the secrets of an account's webhooks, of an endpoint, and of one with its own secret.
const secrets = async () => {
  const emulator = await startEmulator();
  const account = await emulator.createAccount();
  const shop = await account.deliverTo("http://127.0.0.1:9/a");
  const own = await account.deliverTo("http://127.0.0.1:9/b", argument);
  console.log(account.webhookSecret, shop.secret, own.secret);
  await emulator.stop();
};

// With webhooks in a form, prints those of a payment, then those of one with a changed body, and
// the form of an endpoint in the form `hex-header`.
const forms = async () => {
  const emulator = await startEmulator({ serve: [`--webhook-format=${argument}`] });
  const account = await emulator.createAccount();
  const pay = async (order) => {
    const { id } = await new Shop(account).order(order);
    await account.pay(id);
    for (const { type, payment, isVerified, headers } of await account.newWebhooks())
      console.log(type, payment === id, isVerified, Object.keys(headers).sort().join());
  };
  await pay("1");
  const rule = { when: {}, then: { tamper: argument.includes("token") ? "signature" : "body" } };
  await account.control("PUT", "/scenarios/forged", { name: "forged", webhooks: [rule] });
  await pay("2");
  const { format } = await account.deliverTo("http://127.0.0.1:9/a", "a".repeat(24), "hex-header");
  console.log(format.name);
  await emulator.stop();
};

const webhookHost = mode === "start" && argument !== "-" ? argument : undefined;
await ({ secrets, forms }[mode] ?? start)({ serve, webhookHost });
