<?php // Prints the time in milliseconds for each line of the standard input.
while (fgets(STDIN) !== false) {
    echo (int) round(microtime(true) * 1000), "\n";
}
