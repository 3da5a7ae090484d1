import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Prints the time in milliseconds for each line of the standard input. */
class Now {
    public static void main(String[] arguments) throws IOException {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            System.out.println(System.currentTimeMillis());
        }
    }
}
