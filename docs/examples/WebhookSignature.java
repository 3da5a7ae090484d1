import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

final class WebhookSignature {
    static boolean isGenuine(
            byte[] body, String id, String timestamp, String signatures, String secret) {
        byte[] key = Base64.getDecoder().decode(secret.substring("whsec_".length()));
        var signed = new ByteArrayOutputStream();
        signed.writeBytes((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        signed.writeBytes(body);
        try {
            var mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            var digest = Base64.getEncoder().encodeToString(mac.doFinal(signed.toByteArray()));
            byte[] expected = ("v1," + digest).getBytes(StandardCharsets.UTF_8);
            long age = Instant.now().getEpochSecond() - Long.parseLong(timestamp);
            return Math.abs(age) < 300 && Stream.of(signatures.split(" "))
                .map(each -> each.getBytes(StandardCharsets.UTF_8))
                .anyMatch(each -> MessageDigest.isEqual(expected, each));
        } catch (NumberFormatException error) {
            return false;
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error); // every Java has HmacSHA256
        }
    }
}
