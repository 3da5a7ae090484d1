// Test helper for the payments emulator: JUnit 5 on Java 17 or newer.
// `payments-emulator helper java` prints this file; run it again after an update.

import static java.nio.charset.StandardCharsets.*;
import static java.util.stream.Collectors.joining;

import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.net.http.*;
import java.nio.file.*;
import java.security.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BiConsumer;
import java.util.regex.*;
import java.util.stream.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.extension.*;

/** A running emulator; {@code baseUrl} is the API root for the merchant's code. */
public final class PaymentsEmulator {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final boolean IS_WINDOWS = File.separatorChar == '\\';
    // The shell reads from a pipe, which also closes when the test process is killed.
    private static final String LAUNCHER = "exec 3<&0; \"$@\" 3<&- & process=$!;"
        + " { cat <&3; rm -rf \"$0\"; kill $process; } & wait $process; code=$?; kill $!; exit $code";

    public final String baseUrl, checkoutUrl;
    private final String receiverUrl;
    private final boolean isExternal;
    private final HttpServer receiver;
    private final Map<String, BiConsumer<Headers, byte[]>> inboxes = new ConcurrentHashMap<>();
    private Path directory;
    private Process process;

    /** The options are those of {@code payments-emulator serve}, such as {@code "--strict"}. */
    public static PaymentsEmulator start(String... serve) { return start(List.of(serve), null); }

    /**
     * Uses the emulator at PAYMENTS_EMULATOR_URL, or starts one with PAYMENTS_EMULATOR_COMMAND. By
     * {@code webhookHost}, which may be null, an emulator in a container reaches the tests.
     */
    public static PaymentsEmulator start(List<String> serve, String webhookHost) {
        try {
            return new PaymentsEmulator(serve, webhookHost, variable("PAYMENTS_EMULATOR_URL", ""));
        } catch (IOException | InterruptedException exception) {
            throw new PaymentsEmulatorError("the payments emulator did not start: " + exception);
        }
    }

    private PaymentsEmulator(List<String> serve, String host, String url) throws IOException, InterruptedException {
        isExternal = !url.isEmpty();
        var addresses = isExternal ? Map.of("api", url.replaceFirst("(/v1)?/*$", "")) : launch(serve);
        baseUrl = (String) addresses.get("api");
        checkoutUrl = (String) (isExternal ? connect(url) : addresses).get("checkout");
        receiver = HttpServer.create(new InetSocketAddress(host == null ? "127.0.0.1" : "0.0.0.0", 0), 0);
        receiver.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            var inbox = inboxes.get(exchange.getRequestURI().getPath());
            if (inbox != null) inbox.accept(exchange.getRequestHeaders(), body);
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        receiverUrl = "http://" + (host == null ? "127.0.0.1" : host) + ":" + receiver.getAddress().getPort();
        // As a child of a daemon, the thread of the receiver does not keep the tests running.
        var starter = new Thread(receiver::start);
        starter.setDaemon(true);
        starter.start();
        Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
    }

    public Account createAccount() { return createAccount(Map.of()); }

    /** The options are those of {@code POST /accounts}; the default clock does not move by itself. */
    public Account createAccount(Map<String, ?> options) {
        var body = new HashMap<String, Object>(Map.of("clock", "frozen@2026-01-01T00:00:00Z"));
        if (isExternal) body.put("takes_over", variable("PAYMENTS_EMULATOR_TEST_KEY", null));
        body.putAll(options);
        try {
            return new Account(this, call("POST", "/accounts", body, null));
        } catch (PaymentsEmulatorError error) {
            if (!"takes_over".equals(error.param)) throw error;
            // Without the key if another account has it, or if it is not that of the first account.
            body.put("takes_over", options.get("takes_over"));
            return new Account(this, call("POST", "/accounts", body, null));
        }
    }

    /** Ends the emulator, unless it is that of PAYMENTS_EMULATOR_URL. */
    public synchronized void stop() {
        receiver.stop(0);
        try {
            if (!isExternal) end();
        } catch (IOException | InterruptedException exception) {
            throw new PaymentsEmulatorError("the payments emulator did not end: " + exception);
        }
    }

    private int end() throws IOException, InterruptedException {
        process.getOutputStream().close();
        if (IS_WINDOWS) process.destroy();
        int code = process.waitFor();
        for (String name : List.of("ready.json", "emulator.log", "")) Files.deleteIfExists(directory.resolve(name));
        return code;
    }

    private Map<String, Object> launch(List<String> options) throws IOException, InterruptedException {
        String command = variable("PAYMENTS_EMULATOR_COMMAND", "payments-emulator").trim();
        String[] program = new File(command).isFile() ? new String[] {command} : command.split("\\s+");
        directory = Files.createTempDirectory("payments-emulator-");
        Path ready = directory.resolve("ready.json"), log = directory.resolve("emulator.log");
        var words = new ArrayList<>(IS_WINDOWS ? List.of() : List.of("sh", "-c", LAUNCHER, directory.toString()));
        Collections.addAll(words, program);
        Collections.addAll(words, "serve", "--port", "0", "--checkout-port", "0", "--allow-http-localhost");
        Collections.addAll(words, "--ready-file", ready.toString());
        words.addAll(options);
        var builder = new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("EMULATOR_"));
        process = builder.start();
        for (int polls = 0; !Files.exists(ready); polls++) {
            if (!process.waitFor(20, TimeUnit.MILLISECONDS) && polls < 1_500) continue;
            String reason = Files.readString(log).strip();
            int code = end();
            throw new PaymentsEmulatorError(code != 127
                ? "'" + command + " serve' did not start: " + (reason.isEmpty() ? "exit code " + code : reason)
                : "the command '" + program[0] + "' was not found: install etb-payments-emulator or activate its"
                    + " Python environment, or set PAYMENTS_EMULATOR_COMMAND or PAYMENTS_EMULATOR_URL");
        }
        return Json.parse(Files.readString(ready));
    }

    private Map<String, Object> connect(String url) {
        try {
            return call("GET", "/", null, null);
        } catch (PaymentsEmulatorError error) {
            throw new PaymentsEmulatorError("PAYMENTS_EMULATOR_URL is '" + url + "': " + error.getMessage()
                + "; expected the API address that 'serve' prints");
        }
    }

    private Map<String, Object> call(String method, String path, Object body, String key) {
        HttpResponse<String> response;
        try {
            var request = HttpRequest.newBuilder(URI.create(baseUrl + "/_emulator" + path));
            var content = HttpRequest.BodyPublishers.ofString(body == null ? "" : Json.text(body));
            request.timeout(Duration.ofSeconds(90)).method(method, content);
            if (body != null) request.header("Content-Type", "application/json");
            if (key != null) request.header("Authorization", "Bearer " + key);
            response = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException | InterruptedException | IllegalArgumentException exception) {
            String log = isExternal ? "" : "; see its log " + directory.resolve("emulator.log");
            throw new PaymentsEmulatorError(
                "the payments emulator at " + baseUrl + " does not respond: " + exception + log);
        }
        int status = response.statusCode();
        var value = Json.parse(response.body());
        if (status == 204 || status < 400 && value != null) return value;
        if (value != null && value.get("error") instanceof Map<?, ?> error && error.get("code") instanceof String code)
            throw new PaymentsEmulatorError(
                code + ": " + error.get("message"), status, code, (String) error.get("param"));
        throw new PaymentsEmulatorError(method + " " + baseUrl + "/_emulator" + path + " returned " + status
            + ": this is not a payments emulator", status, null, null);
    }

    private static String variable(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isBlank() ? otherwise : value;
    }

    /** A merchant's account. When a call returns, webhooks that were due have been delivered. */
    public static final class Account {
        public final String id, baseUrl, testKey, liveKey;
        /** The secret that verifies {@code webhooks()}. */
        public final String webhookSecret;
        private final PaymentsEmulator emulator;
        private final List<Webhook> received = new CopyOnWriteArrayList<>();
        private volatile Endpoint inbox;
        private String problem;
        private int seen;

        private Account(PaymentsEmulator emulator, Map<String, Object> account) {
            this.emulator = emulator;
            baseUrl = emulator.baseUrl;
            id = (String) account.get("id");
            testKey = (String) account.get("test_key");
            liveKey = (String) account.get("live_key");
            inbox = deliverTo(emulator.receiverUrl + "/" + id);
            webhookSecret = inbox.secret();
            emulator.inboxes.put("/" + id, (headers, body) -> received.add(Webhook.read(inbox, headers, body)));
            // Webhooks of an emulator that runs elsewhere may not arrive.
            String path = "/webhook_endpoints/" + inbox.id();
            if (emulator.isExternal && !control("POST", path + "/ping", null).get("status").equals("succeeded")) {
                problem = "webhooks of the payments emulator at " + baseUrl + " do not reach the tests at "
                    + emulator.receiverUrl + "; set the argument webhookHost, such as host.docker.internal";
                control("DELETE", path, null);
            }
            received.clear();
        }

        /**
         * Pays as on the checkout page, with a phone or bank whose payments succeed. A {@code bank_transfer}
         * stays {@code processing} until {@code answer}.
         */
        public Map<String, Object> pay(String id) { return pay(id, Map.of()); }

        /** Pays by "method", "phone" or "bank", such as {@code Map.of("phone", "0900000002")}. */
        public Map<String, Object> pay(String id, Map<String, String> by) { return act(id, "pay", by); }

        /** Answers on the phone or at the bank: "approve", "cancel", "wrong_pin" etc. */
        public Map<String, Object> answer(String id, String answer) {
            return act(id, "answer", Map.of("answer", answer));
        }

        /** Presses the page's cancel button, which leaves the payment pending. */
        public Map<String, Object> cancel(String id) { return act(id, "cancel", null); }

        public Map<String, Object> refund(String id) { return transition(id, "refunded"); }

        /** Sets a status by any legal transition, also before it is due. */
        public Map<String, Object> transition(String id, String status) {
            return act(id, "transition", Map.of("status", status));
        }

        /** Advances the clock; returns what happened. */
        public List<Map<String, Object>> advance(Duration span) {
            var advanced = control("POST", "/clock/advance", Map.of("seconds", span.toMillis() / 1_000.0));
            if (advanced.get("settled").equals(true)) return withoutInbox(Json.list(advanced.get("effects")));
            throw new PaymentsEmulatorError(
                "the clock stopped at " + advanced.get("now") + ": a webhook receiver is too slow");
        }

        /** Enables one of the emulator's scenarios. */
        public Map<String, Object> useScenario(String name) {
            return control("PUT", "/scenarios/" + encoded(name) + "/enabled", Map.of("enabled", true));
        }

        /** Makes one request fail: {@code fault("create_payment", Map.of("drop", true, "point", "after_commit"))}. */
        public Map<String, Object> fault(String request, Map<String, ?> then) {
            return control("POST", "/faults", Map.of("when", Map.of("request", request), "then", then, "times", 1));
        }

        /** The webhooks that the test received, in order of arrival. */
        public List<Webhook> webhooks() {
            if (problem != null) throw new PaymentsEmulatorError(problem);
            advance(Duration.ZERO);
            return List.copyOf(received);
        }

        /** The webhooks since the last call, for the merchant's handler. */
        public List<Webhook> newWebhooks() {
            List<Webhook> all = webhooks(), latest = all.subList(seen, all.size());
            seen = all.size();
            return latest;
        }

        /** Also sends later webhooks to the merchant's application. */
        public Endpoint deliverTo(String url) {
            return deliverTo(url, variable("PAYMENTS_EMULATOR_WEBHOOK_SECRET", null), null);
        }

        /** The secret, and the form of webhooks or its name, may be null. */
        public Endpoint deliverTo(String url, String secret, Object format) {
            var body = new HashMap<String, Object>(Map.of("url", url));
            body.put("secret", secret);
            body.put("format", format);
            var created = control("POST", "/webhook_endpoints", body);
            String id = (String) created.get("id"), newSecret = (String) created.get("secret");
            return new Endpoint(id, url, newSecret, Json.map(created.get("format")));
        }

        /** The webhooks that the merchant's application was sent, with all attempts, the oldest first. */
        public List<Map<String, Object>> deliveries() {
            advance(Duration.ZERO);
            return withoutInbox(listed("/deliveries"));
        }

        public Map<String, Object> payment(String id) {
            return Json.map(control("GET", "/payments/" + encoded(id), null).get("payment"));
        }

        /** The requests of the merchant's code and their responses, the oldest first. */
        public List<Map<String, Object>> requests() { return listed("/requests"); }

        /** What the merchant's integration does right and wrong, without the webhooks of the test. */
        public List<Map<String, Object>> checklist() {
            advance(Duration.ZERO);
            String query = problem == null ? "?exclude_endpoint=" + inbox.id() : "";
            return Json.list(control("GET", "/checklist" + query, null).get("data"));
        }

        /** Any call of the control API, such as {@code control("PUT", "/clock", Map.of("frozen", false))}. */
        public Map<String, Object> control(String method, String path, Object body) {
            if (path.startsWith("/")) return emulator.call(method, path, body, testKey);
            throw new IllegalArgumentException("'" + path + "' is not a path such as '/clock'");
        }

        /** Restores the initial state, without the payments, faults and endpoints of the test. */
        public void reset() {
            control("POST", "/reset", null);
            if (problem == null) inbox = deliverTo(inbox.url(), webhookSecret, null);
            received.clear();
            seen = 0;
        }

        public void delete() {
            control("DELETE", "/accounts/" + id, null);
            emulator.inboxes.remove("/" + id);
        }

        private Map<String, Object> act(String id, String action, Object body) {
            var payment = control("POST", "/payments/" + encoded(id) + "/" + action, body);
            advance(Duration.ZERO);
            return payment;
        }

        private List<Map<String, Object>> listed(String path) {
            var entries = Json.list(control("GET", path + "?limit=1000", null).get("data"));
            Collections.reverse(entries);
            return entries;
        }

        private List<Map<String, Object>> withoutInbox(List<Map<String, Object>> entries) {
            return entries.stream().filter(entry -> !inbox.id().equals(entry.get("endpoint"))).toList();
        }

        private static String encoded(String text) { return URLEncoder.encode(text, UTF_8); }
    }

    /** An address that receives webhooks; {@code secret} verifies them, and {@code format} is their form. */
    public record Endpoint(String id, String url, String secret, Map<String, Object> format) { }

    /**
     * A received webhook: header names are lower case, and {@code body} has the signed bytes. {@code isVerified}:
     * the signature is correct, and its timestamp at most five minutes old.
     */
    public record Webhook(
        String id, String type, String payment, Map<String, String> headers, byte[] body, boolean isVerified
    ) {
        private static final Pattern PLACEHOLDER = Pattern.compile("\\{([^{}]+)\\}");

        // Reads a webhook in the form of its endpoint.
        private static Webhook read(Endpoint endpoint, Headers all, byte[] body) {
            var form = endpoint.format();
            var templates = Json.map(form.get("headers"));
            var headers = new TreeMap<String, String>();
            all.forEach((name, lines) -> headers.put(name.toLowerCase(), lines.get(0)));
            headers.keySet().removeIf(name -> !templates.containsKey(name) && !name.matches("content-type|user-agent"));
            String text = new String(body, UTF_8);
            var event = form.get("content_type").equals("application/json") ? Json.parse(text) : fields(text);
            var values = values(form.get("body"), event);
            values.putAll(values(templates, headers));
            values.putIfAbsent("id", values.get("event.id"));
            if (values.get("payment") instanceof Map<?, ?> payment)
                payment.forEach((name, value) -> values.put("payment." + name, value));
            // The emulator's name of the type; that of the status where the form has none, or has it twice.
            Object status = values.get("payment.status"), sent = values.get("event.type");
            var own = new ArrayList<String>();
            Json.map(form.get("events")).forEach((name, each) -> {
                if (each != null && each.equals(sent)) own.add(name);
            });
            Object type = own.isEmpty() ? sent : own.get(0);
            if (status != null && (sent == null || own.size() > 1))
                type = "payment." + (status.equals("pending") ? "created" : status);
            boolean isVerified = isRecent(templates, values.get("timestamp")) && isSigned(endpoint, values, body);
            return new Webhook(
                (String) values.get("id"), (String) type, (String) values.get("payment.id"), headers, body, isVerified);
        }

        private static Map<String, Object> fields(String text) {
            var fields = new HashMap<String, Object>();
            for (String pair : text.split("&")) {
                String[] parts = (pair + "=").split("=", 3);
                fields.put(URLDecoder.decode(parts[0], UTF_8), URLDecoder.decode(parts[1], UTF_8));
            }
            return fields;
        }

        // The values at the placeholders of a template, in what was received.
        private static Map<String, Object> values(Object template, Object received) {
            var values = new HashMap<String, Object>();
            if (template instanceof Map<?, ?> members && received instanceof Map<?, ?> all) {
                members.forEach((name, each) -> values.putAll(values(each, all.get(name))));
            } else if (template instanceof List<?> items && received instanceof List<?> all) {
                for (int i = 0; i < Math.min(items.size(), all.size()); i++)
                    values.putAll(values(items.get(i), all.get(i)));
            } else if (template instanceof String text && received != null) {
                var placeholder = PLACEHOLDER.matcher(text);
                if (placeholder.matches()) return new HashMap<>(Map.of(placeholder.group(1), received));
                var parts = Arrays.stream(PLACEHOLDER.split(text, -1)).map(Pattern::quote);
                var pattern = Pattern.compile(parts.collect(joining("(.*?)")), Pattern.DOTALL);
                var match = pattern.matcher(received.toString());
                placeholder.reset();
                for (int group = 1; match.matches() && placeholder.find(); group++)
                    values.put(placeholder.group(1), match.group(group));
            }
            return values;
        }

        private static boolean isRecent(Map<String, Object> templates, Object timestamp) {
            if (!templates.toString().contains("{timestamp}")) return true;
            return timestamp instanceof String text && text.matches("\\d{1,15}")
                && Math.abs(System.currentTimeMillis() / 1_000 - Long.parseLong(text)) <= 300;
        }

        // The value at a placeholder, or the one that follows from the values at others.
        private static Object value(Map<String, Object> values, String name) {
            if (values.containsKey(name)) return values.get(name);
            if (name.equals("event.id")) return values.get("id");
            if (name.equals("payment.amount_birr")) {
                String cents = String.format("%3s", text(value(values, "payment.amount"))).replace(' ', '0');
                int end = cents.length() - 2;
                return cents.substring(0, end) + "." + cents.substring(end);
            }
            String whole = name.startsWith("payment.metadata.") ? "payment.metadata" : "payment";
            if (!name.startsWith(whole + ".")) return null;
            return value(values, whole) instanceof Map<?, ?> all ? all.get(name.substring(whole.length() + 1)) : null;
        }

        private static String text(Object value) {
            return value == null ? "" : value instanceof String text ? text : Json.text(value);
        }

        private static boolean isSigned(Endpoint endpoint, Map<String, Object> values, byte[] body) {
            var form = Json.map(endpoint.format().get("signature"));
            String algorithm = ((String) form.get("algorithm")).replace("-", ""), secret = endpoint.secret();
            if (algorithm.equals("none")) return false;
            byte[] key = switch ((String) form.get("secret")) {
                case "base64" -> Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
                case "hex" -> HexFormat.of().parseHex(secret);
                default -> secret.getBytes(UTF_8);
            };
            if (algorithm.equals("token")) return MessageDigest.isEqual(
                ("" + values.get("signature")).getBytes(UTF_8), (form.get("prefix") + secret).getBytes(UTF_8));
            // In ISO 8859-1, each byte is a character.
            String signed = PLACEHOLDER.matcher((String) form.get("content")).replaceAll(match -> {
                boolean isBody = match.group(1).equals("body");
                byte[] bytes = isBody ? body : text(value(values, match.group(1))).getBytes(UTF_8);
                return Matcher.quoteReplacement(new String(bytes, ISO_8859_1));
            });
            byte[] digest;
            try {
                Mac mac = Mac.getInstance(algorithm);
                mac.init(new SecretKeySpec(key, algorithm));
                digest = mac.doFinal(signed.getBytes(ISO_8859_1));
            } catch (GeneralSecurityException exception) {
                throw new IllegalStateException(exception);
            }
            boolean isHex = form.get("encoding").equals("hex");
            String text = isHex ? HexFormat.of().formatHex(digest) : Base64.getEncoder().encodeToString(digest);
            byte[] expected = (form.get("prefix") + text).getBytes(UTF_8);
            String sent = "" + values.get("signature"), separator = "" + form.get("separator");
            var given = separator.isEmpty() ? Stream.of(sent) : Stream.of(sent.split(Pattern.quote(separator)));
            return given.anyMatch(each -> MessageDigest.isEqual(each.getBytes(UTF_8), expected));
        }
    }

    /** A refused call, with the HTTP status and the code, or an emulator that does not respond. */
    public static final class PaymentsEmulatorError extends RuntimeException {
        private static final long serialVersionUID = 1;
        public final int status;
        public final String code, param;

        private PaymentsEmulatorError(String message) { this(message, 0, null, null); }

        private PaymentsEmulatorError(String message, int status, String code, String param) {
            super(message);
            this.status = status;
            this.code = code;
            this.param = param;
        }
    }

    /**
     * Gives a test an {@link Account} as a parameter, and deletes it afterwards. All tests of a run share an emulator;
     * JUnit's configuration parameter {@code payments_emulator_options} has options of its {@code serve}.
     */
    public static final class Extension implements ParameterResolver, AfterEachCallback {
        private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Extension.class);

        @Override public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == Account.class;
        }

        @Override public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            String text = context.getConfigurationParameter("payments_emulator_options").orElse("").trim();
            String[] options = text.isEmpty() ? new String[0] : text.split("\\s+");
            var emulator = context.getRoot().getStore(NAMESPACE).getOrComputeIfAbsent(
                "emulator", key -> start(options), PaymentsEmulator.class);
            return context.getStore(NAMESPACE).getOrComputeIfAbsent("account", key -> emulator.createAccount());
        }

        @Override public void afterEach(ExtensionContext context) {
            var account = context.getStore(NAMESPACE).remove("account", Account.class);
            // The test may have deleted it.
            if (account != null && account.emulator.inboxes.containsKey("/" + account.id)) account.delete();
        }
    }

    /** Reads and writes JSON: objects are maps, integers are Long, other numbers are Double. */
    private static final class Json {
        private final String text;
        private int at;

        private Json(String text) { this.text = text; }

        /** The object in a text, or null. */
        static Map<String, Object> parse(String text) {
            try {
                return map(new Json(text).value());
            } catch (IndexOutOfBoundsException | ClassCastException | NumberFormatException exception) {
                return null;
            }
        }

        @SuppressWarnings("unchecked")
        static Map<String, Object> map(Object value) { return (Map<String, Object>) value; }

        @SuppressWarnings("unchecked")
        static List<Map<String, Object>> list(Object value) { return (List<Map<String, Object>>) value; }

        static String text(Object value) {
            if (value instanceof Map<?, ?> members) return members.entrySet().stream()
                .map(member -> text(member.getKey()) + ":" + text(member.getValue())).collect(joining(",", "{", "}"));
            if (value instanceof List<?> items) return items.stream().map(Json::text).collect(joining(",", "[", "]"));
            if (!(value instanceof String text)) return "" + value;
            return text.chars().mapToObj(each -> each < ' ' ? String.format("\\u%04x", each)
                : (each == '"' || each == '\\' ? "\\" : "") + (char) each).collect(joining("", "\"", "\""));
        }

        private Object value() {
            char first = next();
            if (first == '"') return string();
            if (first == '{') {
                var members = new LinkedHashMap<String, Object>();
                for (at++; next() != '}'; ) members.put(string(), value());
                at++;
                return members;
            }
            if (first == '[') {
                var items = new ArrayList<Object>();
                for (at++; next() != ']'; ) items.add(value());
                at++;
                return items;
            }
            int start = at;
            while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            if (word.equals("null")) return null;
            if (word.matches("true|false")) return word.equals("true");
            return word.matches("-?\\d{1,18}") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        }

        private String string() {
            var string = new StringBuilder();
            for (at++; text.charAt(at) != '"'; at++) {
                char each = text.charAt(at);
                if (each == '\\') {
                    each = text.charAt(++at);
                    int escape = "bfnrt".indexOf(each);
                    if (escape >= 0) each = "\b\f\n\r\t".charAt(escape);
                    if (each == 'u') each = (char) Integer.parseInt(text.substring(at + 1, (at += 4) + 1), 16);
                }
                string.append(each);
            }
            at++;
            return string.toString();
        }

        /** The next character that is not a blank or a separator. */
        private char next() {
            while (" \n\r\t,:".indexOf(text.charAt(at)) >= 0) at++;
            return text.charAt(at);
        }
    }
}
