// Prints the status of a request.
fetch(process.argv[2]).then((response) => console.log(String(response.status)));
