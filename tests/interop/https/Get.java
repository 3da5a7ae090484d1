import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Prints the status of a request. */
class Get {
    public static void main(String[] arguments) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
        System.out.println(HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).statusCode());
    }
}
