import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.springframework.http.HttpEntity;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.http.client.AbstractClientHttpRequest;
import org.springframework.http.client.AbstractClientHttpResponse;
import org.springframework.http.client.ClientHttpRequestFactory;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.http.client.SimpleClientHttpRequestFactory;
import org.springframework.web.client.RestTemplate;

/**
 * Sends its standard input with Spring's RestTemplate, once for each HTTP client below it: the
 * default one, and Java's own, which offers an upgrade to HTTP/2.
 *
 * <p>Debian has Spring 4.3. Spring 6.1 and newer have a factory for Java's own client; here it is
 * the class Request.
 */
class Spring {
  public static void main(String[] arguments) throws Exception {
    byte[] body = System.in.readAllBytes();
    HttpClient client = HttpClient.newHttpClient();
    List<ClientHttpRequestFactory> factories =
        List.of(
            new SimpleClientHttpRequestFactory(),
            (uri, method) -> new Request(client, uri, method));
    HttpHeaders headers = new HttpHeaders();
    headers.set("Authorization", "Bearer " + arguments[1]);
    headers.setContentType(MediaType.APPLICATION_JSON);
    HttpEntity<byte[]> entity = new HttpEntity<>(body, headers);
    for (ClientHttpRequestFactory factory : factories) {
      ResponseEntity<byte[]> response =
          new RestTemplate(factory).postForEntity(arguments[0], entity, byte[].class);
      byte[] received = response.hasBody() ? response.getBody() : new byte[0];
      String text = new String(received, StandardCharsets.UTF_8);
      System.out.println(response.getStatusCodeValue() + " " + text);
    }
  }
}

class Request extends AbstractClientHttpRequest {
  private final HttpClient client;
  private final URI uri;
  private final HttpMethod method;
  private final ByteArrayOutputStream body = new ByteArrayOutputStream();

  Request(HttpClient client, URI uri, HttpMethod method) {
    this.client = client;
    this.uri = uri;
    this.method = method;
  }

  @Override
  public HttpMethod getMethod() {
    return method;
  }

  @Override
  public URI getURI() {
    return uri;
  }

  @Override
  protected OutputStream getBodyInternal(HttpHeaders headers) {
    return body;
  }

  @Override
  protected ClientHttpResponse executeInternal(HttpHeaders headers) throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
            .method(method.name(), BodyPublishers.ofByteArray(body.toByteArray()));
    headers.remove(HttpHeaders.CONTENT_LENGTH); // the client sets it
    headers.forEach((name, values) -> values.forEach(value -> request.header(name, value)));
    try {
      return new Response(client.send(request.build(), BodyHandlers.ofByteArray()));
    } catch (InterruptedException error) {
      throw new IOException(error);
    }
  }
}

class Response extends AbstractClientHttpResponse {
  private final HttpResponse<byte[]> response;

  Response(HttpResponse<byte[]> response) {
    this.response = response;
  }

  @Override
  public int getRawStatusCode() {
    return response.statusCode();
  }

  @Override
  public String getStatusText() {
    return "";
  }

  @Override
  public HttpHeaders getHeaders() {
    HttpHeaders headers = new HttpHeaders();
    headers.putAll(response.headers().map());
    return headers;
  }

  @Override
  public InputStream getBody() {
    return new ByteArrayInputStream(response.body());
  }

  @Override
  public void close() {}
}
