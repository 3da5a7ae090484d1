// A small shop: it creates a payment for each order, and ships an order once it is paid.

import { Webhook } from "standardwebhooks";
import type { Payment } from "./payments-emulator.js";

const MAX_TRIES = 3;

export class Shop {
  readonly shipped: string[] = [];
  private readonly known = new Set<string>();
  private readonly baseUrl: string;
  private readonly key: string;

  constructor(account: { baseUrl: string; testKey: string }) {
    this.baseUrl = account.baseUrl;
    this.key = account.testKey;
  }

  /** Repeats a request without a response; the idempotency key prevents a second payment. */
  async order(number: string, amount = 15_000): Promise<Payment> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.createPayment(number, amount);
      } catch (error) {
        // By name, because Jest has its own TypeError.
        if ((error as Error).name !== "TypeError" || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Handles a webhook; returns the status of the response. */
  receive(headers: Record<string, string>, body: Buffer, secret: string): number {
    let event: any;
    try {
      event = new Webhook(secret).verify(body.toString(), headers);
    } catch {
      return 400;
    }
    const id = headers["webhook-id"] ?? "";
    if (!this.known.has(id) && event.type === "payment.completed")
      this.shipped.push(event.data.metadata.order);
    this.known.add(id);
    return 204;
  }

  private async createPayment(number: string, amount: number): Promise<Payment> {
    const response = await fetch(`${this.baseUrl}/v1/payments`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body: JSON.stringify({
        amount,
        currency: "ETB",
        methods: ["telebirr", "mpesa", "bank_transfer"],
        success_url: `http://localhost:4000/orders/${number}`,
        cancel_url: "http://localhost:4000/cart",
        metadata: { order: number },
        idempotency_key: `order-${number}`,
      }),
    });
    const payment: any = await response.json();
    if (response.status !== 201) throw new Error(`${response.status} ${payment.error.code}`);
    return payment;
  }
}
