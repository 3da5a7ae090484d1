require "minitest/autorun"
require_relative "payments_emulator"

class PaymentTest < Minitest::Test
  EMULATOR = PaymentsEmulator.new

  def setup
    @account = EMULATOR.create_account
  end

  def test_a_customer_pays
    id = create_payment
    @account.pay(id, phone: "0900000001")
    assert_equal "completed", @account.payment(id)["status"]
  end

  def test_a_customer_does_not_answer
    id = create_payment
    @account.pay(id, phone: "0900000003")
    @account.advance(30)
    assert_equal "failed", @account.payment(id)["status"]
  end

  # In place of your own code.
  def create_payment
    body = {
      amount: 15_000,
      currency: "ETB",
      methods: ["telebirr", "mpesa"],
      success_url: "http://localhost:4000/thanks",
      cancel_url: "http://localhost:4000/cart"
    }
    headers = {"Authorization" => "Bearer #{@account.test_key}", "Content-Type" => "application/json"}
    url = URI("#{EMULATOR.base_url}/v1/payments")
    JSON.parse(Net::HTTP.post(url, body.to_json, headers).body)["id"]
  end
end
