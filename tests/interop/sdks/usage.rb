# A shop's program on the client that openapi-generator makes for Ruby.

require 'openapi_client'

OpenapiClient.configure do |config|
  config.host = 'http://127.0.0.1:8080'
  config.access_token = 'test_demo_key'
end
payments = OpenapiClient::PaymentsApi.new

order = {
  amount: 15_000,
  currency: 'ETB',
  methods: %w[telebirr mpesa],
  success_url: 'https://shop.example/አመሰግናለሁ',
  cancel_url: 'https://shop.example/cart',
  metadata: { customer: 'አበበ' },
  idempotency_key: 'order-1042'
}

payment = payments.create_payment(OpenapiClient::CreatePayment.new(order))
puts "created #{payment.id} #{payment.status} #{payment.amount} #{payment.metadata['customer']}"

again = payments.create_payment(OpenapiClient::CreatePayment.new(order))
puts "retried #{again.id}"

retrieved = payments.retrieve_payment(payment.id)
puts "retrieved #{retrieved.id} #{retrieved.success_url} #{retrieved.method || '-'}"

cursor = nil
loop do
  page = payments.list_payments(limit: 2, after: cursor)
  puts "page #{page.data.map(&:id).join(' ')}"
  cursor = page.next_cursor or break
end

narrowed = payments.list_payments(
  status: OpenapiClient::PaymentStatus::COMPLETED,
  method: OpenapiClient::PaymentMethod::TELEBIRR,
  created_gte: payment.created_at.iso8601(3)
)
puts "narrowed #{narrowed.data.map(&:id).join(' ')}"

def put_refusal
  yield
rescue OpenapiClient::ApiError => e
  refused = OpenapiClient::Error.build_from_hash(JSON.parse(e.response_body))
  puts "#{e.code} #{refused.error.code} #{refused.error.param || '-'}"
end

stranger = OpenapiClient::Configuration.new do |config|
  config.host = OpenapiClient.configure.host
  config.access_token = 'sk_demo'
end
strangers = OpenapiClient::PaymentsApi.new(OpenapiClient::ApiClient.new(stranger))
# A model refuses an amount of 99 by itself; a hash is sent as it is.
put_refusal { payments.create_payment(order.merge(amount: 99)) }
put_refusal { strangers.retrieve_payment(payment.id) }
put_refusal { payments.retrieve_payment('pay_unknown') }
put_refusal { payments.create_payment(OpenapiClient::CreatePayment.new(order.merge(amount: 20_000))) }
