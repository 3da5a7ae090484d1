import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(PaymentsEmulator.Extension.class)
class PaymentTest {
    @Test
    void aCustomerPays(PaymentsEmulator.Account account) throws Exception {
        String id = createPayment(account);
        account.pay(id, Map.of("phone", "0900000001"));
        assertEquals("completed", account.payment(id).get("status"));
        for (var webhook : account.newWebhooks()) {
            // Pass webhook.headers() and webhook.body() to your handler, with account.webhookSecret.
            assertTrue(webhook.isVerified());
        }
    }

    @Test
    void aCustomerDoesNotAnswer(PaymentsEmulator.Account account) throws Exception {
        String id = createPayment(account);
        account.pay(id, Map.of("phone", "0900000003"));
        account.advance(Duration.ofSeconds(30));
        assertEquals("failed", account.payment(id).get("status"));
    }

    /** In place of your own code. */
    private static String createPayment(PaymentsEmulator.Account account) throws Exception {
        String body = """
            {"amount": 15000, "currency": "ETB", "methods": ["telebirr", "mpesa"],
             "success_url": "http://localhost:4000/thanks", "cancel_url": "http://localhost:4000/cart"}""";
        HttpRequest request = HttpRequest.newBuilder(URI.create(account.baseUrl + "/v1/payments"))
            .header("Authorization", "Bearer " + account.testKey)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        String payment = HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
        return payment.replaceFirst("(?s).*?\"id\": *\"(.*?)\".*", "$1");
    }
}
