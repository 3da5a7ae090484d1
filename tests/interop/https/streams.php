<?php // Prints the status of a request.
$body = file_get_contents($argv[1]);
$body === false ? exit(1) : print explode(' ', $http_response_header[0])[1];
