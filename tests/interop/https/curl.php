<?php // Prints the status of a request.
$handle = curl_init($argv[1]);
curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
curl_exec($handle) === false ? exit(1) : print curl_getinfo($handle, CURLINFO_RESPONSE_CODE);
