import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.function.Executable;

@ExtendWith(PaymentsEmulator.Extension.class)
class ShopTest {
    private static PaymentsEmulator emulator;
    private PaymentsEmulator.Account account;
    private Shop shop;

    @BeforeAll
    static void start() { emulator = PaymentsEmulator.start("--seed", "1"); }

    @AfterAll
    static void stop() { emulator.stop(); }

    @BeforeEach
    void open(PaymentsEmulator.Account account) {
        this.account = account;
        String key = System.getenv().getOrDefault("PAYMENTS_EMULATOR_TEST_KEY", account.testKey);
        shop = new Shop(account.baseUrl, key);
    }

    @Test
    void createsAPayment() throws Exception {
        String id = shop.order("1");
        var payment = account.payment(id);
        assertEquals("pending", payment.get("status"));
        assertEquals(15_000L, payment.get("amount"));
        assertEquals(Map.of("order", "1"), payment.get("metadata"));
        var request = account.requests().get(0);
        assertEquals(List.of("POST", 201L), List.of(request.get("method"), request.get("status")));
        String live = new Shop(account.baseUrl, account.liveKey).order("1");
        assertEquals("payment_not_found", refusal(() -> account.payment(live)).code);
    }

    @Test
    void paysWithEachMethod() throws Exception {
        assertEquals("telebirr", account.pay(shop.order("1")).get("method"));
        String id = shop.order("2");
        var waiting = account.pay(id, Map.of("phone", "0711223344"));
        assertEquals(List.of("processing", "mpesa"), List.of(waiting.get("status"), waiting.get("method")));
        assertEquals("completed", account.answer(id, "approve").get("status"));
        var atBank = account.pay(shop.order("3"), Map.of("method", "bank_transfer"));
        assertEquals(List.of("processing", "bank_transfer"), List.of(atBank.get("status"), atBank.get("method")));
    }

    @Test
    void failsAfter30SecondsWithoutAnAnswer() throws Exception {
        String id = shop.order("1");
        account.pay(id, Map.of("phone", "0900000003"));
        account.advance(Duration.ofMillis(29_500));
        assertEquals("processing", account.payment(id).get("status"));
        var effects = account.advance(Duration.ofMillis(500));
        assertEquals(List.of(id), effects.stream().map(effect -> effect.get("payment")).toList());
        assertEquals("failed", account.payment(id).get("status"));
    }

    @Test
    void verifiesWebhooksThatAreDeliveredToTheShop() throws Exception {
        var statuses = new ArrayList<Integer>();
        var endpoint = new PaymentsEmulator.Endpoint[1];
        var server = serve(statuses, endpoint);
        account.pay(shop.order("1"));
        var webhooks = account.newWebhooks();
        server.stop(0);
        assertEquals(List.of(204, 204, 204), statuses);
        assertEquals(List.of("1"), shop.shipped);
        var types = List.of("payment.created", "payment.processing", "payment.completed");
        assertEquals(types, account.deliveries().stream().map(delivery -> delivery.get("type")).toList());
        assertEquals(204, receive(webhooks.get(0)));
        assertEquals(400, shop.receive(webhooks.get(0).headers(), webhooks.get(0).body(), endpoint[0].secret()));
    }

    @Test
    void checksTheShopAndNotTheInboxOfTheTest() throws Exception {
        assertEquals("not_exercised", judged("webhook-acknowledged"));
        var server = serve(new ArrayList<>(), new PaymentsEmulator.Endpoint[1]);
        account.useScenario("forged-webhooks");
        account.pay(shop.order("1"));
        assertEquals("passed", judged("webhook-signature"));
        assertEquals("passed", judged("create-idempotent"));
        server.stop(0);
    }

    @Test
    void shipsOnceAfterADuplicateWebhook() throws Exception {
        account.useScenario("duplicate-webhooks");
        String id = shop.order("1");
        account.pay(id);
        var webhooks = account.newWebhooks();
        var completed = webhooks.stream().filter(webhook -> webhook.type().equals("payment.completed"));
        assertEquals(List.of(id, id), completed.map(PaymentsEmulator.Webhook::payment).toList());
        for (var webhook : webhooks) assertEquals(204, receive(webhook));
        assertEquals(List.of("1"), shop.shipped);
        assertEquals(List.of(), account.newWebhooks());
        assertEquals(webhooks, account.webhooks());
    }

    @Test
    void createsOnePaymentWhenAResponseIsLost() throws Exception {
        account.fault("create_payment", Map.of("drop", true, "point", "after_commit"));
        String id = shop.order("1");
        assertEquals(List.of(false, true), account.requests().stream().map(each -> each.get("replayed")).toList());
        assertEquals(List.of(id), account.webhooks().stream().map(PaymentsEmulator.Webhook::payment).toList());
    }

    @Test
    void expiresAfter30Minutes() throws Exception {
        String id = shop.order("1");
        account.advance(Duration.ofMinutes(30));
        assertEquals("expired", account.payment(id).get("status"));
        var error = refusal(() -> account.pay(id));
        assertEquals(409, error.status);
        assertEquals("payment_not_payable", error.code);
        assertTrue(error.getMessage().matches("payment_not_payable: .*expired.*"), error.getMessage());
    }

    @Test
    void refundsAPayment() throws Exception {
        String id = shop.order("1");
        account.pay(id);
        assertEquals("refunded", account.refund(id).get("status"));
        var webhooks = account.webhooks();
        assertEquals("payment.refunded", webhooks.get(webhooks.size() - 1).type());
    }

    @Test
    void cancelsAPaymentWhichStaysPending() throws Exception {
        String id = shop.order("1");
        assertEquals("pending", account.cancel(id).get("status"));
        assertEquals("expired", account.transition(id, "expired").get("status"));
        assertEquals(409, refusal(() -> account.cancel(id)).status);
    }

    @Test
    void beginsAgainAfterAReset() throws Exception {
        account.deliverTo("http://127.0.0.1:9/webhooks");
        shop.order("1");
        account.newWebhooks();
        account.reset();
        assertEquals(List.of(List.of(), List.of()), List.of(account.requests(), account.webhooks()));
        String id = shop.order("1");
        var webhooks = account.newWebhooks();
        assertEquals(List.of(id), webhooks.stream().map(PaymentsEmulator.Webhook::payment).toList());
        assertTrue(webhooks.get(0).isVerified());
        assertEquals(204, receive(webhooks.get(0)));
        assertEquals(List.of(List.of(), List.of()), List.of(account.deliveries(), account.advance(Duration.ZERO)));
    }

    @Test
    void isolatesAccountsOfBothEmulators() throws Exception {
        var other = emulator.createAccount(Map.of("clock", "frozen@2027-01-01T00:00:00Z"));
        String id = shop.order("1"), otherId = new Shop(other.baseUrl, other.testKey).order("1");
        assertNotEquals(account.baseUrl, other.baseUrl);
        assertTrue(((String) other.payment(otherId).get("checkout_url")).startsWith(emulator.checkoutUrl));
        assertTrue(((String) other.payment(otherId).get("created_at")).startsWith("2027"));
        assertEquals(List.of(id), account.webhooks().stream().map(PaymentsEmulator.Webhook::payment).toList());
        assertEquals("payment_not_found", refusal(() -> other.payment(id)).code);
        other.delete();
        assertEquals(401, refusal(() -> other.control("GET", "/requests", null)).status);
    }

    @Test
    void readsAndWritesJson() throws Exception {
        String text = "\u1262\u122D \"\\/\n\t\u0001 \uD83D\uDE00";
        var scenario = Map.of("name", "own", "description", text, "faults", List.of());
        assertEquals(text, account.control("PUT", "/scenarios/own", scenario).get("description"));
        assertEquals(List.of(), account.control("GET", "/events", null).get("data"));
        account.control("PUT", "/clock", Map.of("rate", 2.5));
        assertEquals(2.5, ((Number) account.control("GET", "/clock", null).get("rate")).doubleValue());
        assertThrows(IllegalArgumentException.class, () -> account.control("GET", "clock", null));
    }

    private HttpServer serve(List<Integer> statuses, PaymentsEmulator.Endpoint[] endpoint) throws Exception {
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/webhooks", exchange -> {
            var headers = new HashMap<String, String>();
            exchange.getRequestHeaders().forEach((name, lines) -> headers.put(name.toLowerCase(), lines.get(0)));
            byte[] body = exchange.getRequestBody().readAllBytes();
            try {
                int status = shop.receive(headers, body, endpoint[0].secret());
                statuses.add(status);
                exchange.sendResponseHeaders(status, -1);
            } catch (Exception exception) {
                exchange.sendResponseHeaders(500, -1);
            }
            exchange.close();
        });
        endpoint[0] = account.deliverTo("http://127.0.0.1:" + server.getAddress().getPort() + "/webhooks");
        server.start();
        return server;
    }

    private static PaymentsEmulator.PaymentsEmulatorError refusal(Executable call) {
        return assertThrows(PaymentsEmulator.PaymentsEmulatorError.class, call);
    }

    private int receive(PaymentsEmulator.Webhook webhook) throws Exception {
        return shop.receive(webhook.headers(), webhook.body(), account.webhookSecret);
    }

    private String judged(String id) {
        return account.checklist().stream().filter(item -> item.get("id").equals(id)).findFirst().orElseThrow()
            .get("result").toString();
    }
}
