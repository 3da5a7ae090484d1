import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** Sends its standard input with the default client, which offers an upgrade to HTTP/2. */
class Create {
  public static void main(String[] arguments) throws Exception {
    byte[] body = System.in.readAllBytes();
    HttpClient client = HttpClient.newHttpClient();
    send(client, arguments, BodyPublishers.ofByteArray(body));
    // Without a length, so that it is sent in chunks.
    send(client, arguments, BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(body)));
  }

  private static void send(HttpClient client, String[] arguments, HttpRequest.BodyPublisher body)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(arguments[0]))
            .header("Authorization", "Bearer " + arguments[1])
            .header("Content-Type", "application/json")
            .POST(body)
            .build();
    HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
    System.out.println(response.statusCode() + " " + response.body());
  }
}
