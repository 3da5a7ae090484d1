require "json"
require "net/http"
require "openssl"

module Payments
  URL = ENV.fetch("PAYMENTS_URL", "http://127.0.0.1:8080")
  KEY = ENV.fetch("PAYMENTS_KEY", "test_demo_key")

  def self.genuine?(body, id, timestamp, signatures, secret)
    key = secret.delete_prefix("whsec_").unpack1("m")
    digest = OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.".b + body.b)
    expected = "v1,#{[digest].pack("m0")}"
    is_signed = signatures.to_s.split.any? { |each| OpenSSL.secure_compare(expected, each) }
    is_signed && (Time.now.to_i - timestamp.to_i).abs < 300
  end

  def self.retrieve(id)
    headers = { "Authorization" => "Bearer #{KEY}" }
    response = Net::HTTP.get_response(URI("#{URL}/v1/payments/#{id}"), headers)
    response.value # raises unless it is 2xx
    JSON.parse(response.body)
  end
end
