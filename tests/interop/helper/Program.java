import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Program start HOST [OPTION…] | wait | secrets SECRET | forms NAME. */
final class Program {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "secrets" -> secrets(arguments[1]);
            case "forms" -> forms(arguments[1]);
            case "wait" -> start(null, List.of(), 600);
            default -> start(arguments[1].equals("-") ? null : arguments[1], Arrays.asList(arguments).subList(2, arguments.length), 0);
        }
    }

    /** Prints the emulator's addresses and the number of webhooks, or what prevents them. */
    private static void start(String host, List<String> serve, int seconds) throws Exception {
        try {
            var emulator = PaymentsEmulator.start(serve, host);
            var webhooks = emulator.createAccount().webhooks();
            System.out.println(emulator.baseUrl + " " + emulator.checkoutUrl + " " + webhooks.size());
            Thread.sleep(seconds * 1_000L);
            emulator.stop();
        } catch (PaymentsEmulator.PaymentsEmulatorError error) {
            System.out.println(error.getMessage());
        }
    }

    /** Prints the secrets of an account's webhooks, of an endpoint, and of one with its own secret. */
    private static void secrets(String secret) {
        var account = PaymentsEmulator.start().createAccount();
        var shop = account.deliverTo("http://127.0.0.1:9/a");
        var own = account.deliverTo("http://127.0.0.1:9/b", secret, null);
        System.out.println(account.webhookSecret + " " + shop.secret() + " " + own.secret());
    }

    /**
     * With webhooks in a form, prints those of a payment, then those of one with a changed body, and the form of an
     * endpoint in the form hex-header.
     */
    private static void forms(String name) throws Exception {
        var account = PaymentsEmulator.start("--webhook-format=" + name).createAccount();
        pay(account, "1");
        var rule = Map.of("when", Map.of(), "then", Map.of("tamper", name.contains("token") ? "signature" : "body"));
        account.control("PUT", "/scenarios/forged", Map.of("name", "forged", "webhooks", List.of(rule)));
        pay(account, "2");
        var endpoint = account.deliverTo("http://127.0.0.1:9/a", "a".repeat(24), "hex-header");
        System.out.println(endpoint.format().get("name"));
    }

    private static void pay(PaymentsEmulator.Account account, String number) throws Exception {
        String id = new Shop(account.baseUrl, account.testKey).order(number);
        account.pay(id);
        for (var webhook : account.newWebhooks())
            System.out.println(String.join(" ", webhook.type(), "" + webhook.payment().equals(id), "" + webhook.isVerified(),
                String.join(",", new TreeSet<>(webhook.headers().keySet()))));
    }
}
