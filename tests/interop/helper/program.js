import { startEmulator } from "./payments-emulator.js";
try {
  const emulator = await startEmulator(JSON.parse(process.argv[2]));
  const account = await emulator.createAccount();
  const webhooks = await account.webhooks();
  console.log(emulator.baseUrl, emulator.checkoutUrl, webhooks.length);
  if (process.argv[3]) await new Promise((resolve) => setTimeout(resolve, 600_000));
  await emulator.stop();
} catch (error) {
  console.log(error.message);
}
