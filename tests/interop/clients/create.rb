# Sends its standard input with Ruby's own client: with its length, and in chunks.
require "net/http"
require "stringio"

url, key = ARGV
body = $stdin.read
headers = { "Authorization" => "Bearer #{key}", "Content-Type" => "application/json" }

response = Net::HTTP.post(URI(url), body, headers)
puts "#{response.code} #{response.body}"

request = Net::HTTP::Post.new(URI(url), headers.merge("Transfer-Encoding" => "chunked"))
request.body_stream = StringIO.new(body)
response = Net::HTTP.start(URI(url).host, URI(url).port) { |http| http.request(request) }
puts "#{response.code} #{response.body}"
