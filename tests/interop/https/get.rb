# Prints the status of a request.
require "net/http"
puts Net::HTTP.get_response(URI(ARGV[0])).code
