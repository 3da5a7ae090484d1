// Prints the time in milliseconds for each line of the standard input.
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", () => console.log(String(Date.now())));
