import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A small shop: it creates a payment for each order, and ships an order once it is paid. */
final class Shop {
    private static final int MAX_TRIES = 3, MAX_AGE_S = 300;

    final List<String> shipped = new ArrayList<>();
    private final Set<String> known = new HashSet<>();
    private final String baseUrl, key;

    Shop(String baseUrl, String key) {
        this.baseUrl = baseUrl;
        this.key = key;
    }

    /** Repeats a request without a response; the idempotency key prevents a second payment. */
    String order(String number, int amount) throws Exception {
        String body = """
            {"amount": %d, "currency": "ETB", "methods": ["telebirr", "mpesa", "bank_transfer"],
            "success_url": "http://localhost:4000/orders/%2$s", "cancel_url": "http://localhost:4000/cart",
            "metadata": {"order": "%2$s"}, "idempotency_key": "order-%2$s"}""".formatted(amount, number);
        HttpRequest request = HttpRequest.newBuilder(URI.create(baseUrl + "/v1/payments"))
            .header("Authorization", "Bearer " + key)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
        for (int tries = 1; ; tries++) {
            try {
                var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
                if (response.statusCode() == 201) return member(response.body(), "id");
                throw new IllegalStateException(member(response.body(), "code"));
            } catch (IOException exception) {
                if (tries == MAX_TRIES) throw exception;
            }
        }
    }

    String order(String number) throws Exception { return order(number, 15_000); }

    /** Handles a webhook; returns the status of the response. */
    synchronized int receive(Map<String, String> headers, byte[] body, String secret) throws Exception {
        String id = headers.get("webhook-id"), timestamp = headers.get("webhook-timestamp");
        if (Math.abs(System.currentTimeMillis() / 1_000 - Long.parseLong(timestamp)) > MAX_AGE_S) return 400;
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring("whsec_".length())), "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(UTF_8));
        byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(UTF_8);
        if (!MessageDigest.isEqual(expected, headers.get("webhook-signature").getBytes(UTF_8))) return 400;
        String event = new String(body, UTF_8);
        if (known.add(id) && member(event, "type").equals("payment.completed")) shipped.add(member(event, "order"));
        return 204;
    }

    private static String member(String json, String name) {
        var match = Pattern.compile("\"" + name + "\": ?\"(.*?)\"").matcher(json);
        return match.find() ? match.group(1) : "";
    }
}
