require "json"
require "net/http"
require "tmpdir"

# A running emulator. Without PAYMENTS_EMULATOR_URL, it is started, and ends with the tests.
class PaymentsEmulator
  # The shell reads from a pipe, which also closes when the tests are killed.
  LAUNCHER = 'exec 3<&0; "$@" >"$0" 2>&1 & process=$!; { cat <&3; kill $process; } & wait $process'
  SECRET = ENV["PAYMENTS_EMULATOR_WEBHOOK_SECRET"]
  attr_reader :base_url
  def create_account = Account.new(self, call("POST", "/accounts", {clock: "frozen"})["test_key"])

  def initialize
    @base_url = ENV["PAYMENTS_EMULATOR_URL"]&.sub(%r{(/v1)?/*\z}, "") || start
  end

  def call(method, path, body = nil, key = nil)
    headers = {"Authorization" => key && "Bearer #{key}", "Content-Type" => "application/json"}
    http = Net::HTTP.new(URI(base_url).host, URI(base_url).port)
    response = http.send_request(method, "/_emulator#{path}", body&.to_json, headers.compact)
    JSON.parse(response.body).tap { |result| raise result["error"]["message"] if result["error"] }
  end

  private def start
    ready = File.join(Dir.mktmpdir, "ready.json")
    command = ENV.fetch("PAYMENTS_EMULATOR_COMMAND", "payments-emulator").split
    command += %W[serve --port 0 --checkout-port 0 --allow-http-localhost --ready-file #{ready}]
    @shell = IO.popen(["sh", "-c", LAUNCHER, "#{ready}.log", *command], "w")
    sleep 0.02 until File.exist?(ready) || Process.wait(@shell.pid, Process::WNOHANG)
    File.exist?(ready) ? JSON.parse(File.read(ready))["api"] : raise(File.read("#{ready}.log"))
  end

  Account = Struct.new(:emulator, :test_key) do
    def pay(id, **by) = call("POST", "/payments/#{id}/pay", by).tap { advance(0) }
    def advance(seconds) = call("POST", "/clock/advance", {seconds: seconds})["effects"]
    def payment(id) = call("GET", "/payments/#{id}")["payment"]
    def deliver_to(url) = call("POST", "/webhook_endpoints", {url: url, secret: SECRET})
    def call(method, path, body = nil) = emulator.call(method, path, body, test_key)
  end
end
