/** Prints for each webhook, which is four arguments, whether it is genuine. */
final class Verify {
    public static void main(String[] arguments) {
        for (int i = 1; i < arguments.length; i += 4) {
            byte[] body = arguments[i].getBytes(java.nio.charset.StandardCharsets.UTF_8);
            String[] headers = java.util.Arrays.copyOfRange(arguments, i + 1, i + 4);
            System.out.println(WebhookSignature.isGenuine(body, headers[0], headers[1], headers[2], arguments[0]));
        }
    }
}
