call() {
  curl -s -o response.json -H 'Content-Type: application/json' \
    -H 'Authorization: Bearer test_demo_key' -d "$2" "http://127.0.0.1:8080$1"
}
call /_emulator/webhook_endpoints \
  "{\"url\": \"http://127.0.0.1:4000/webhooks\", \"format\": \"$1\", \"secret\": \"$2\"}"
call /v1/payments '{"amount": 15000, "currency": "ETB", "methods": ["telebirr"],
  "success_url": "https://shop.example/thanks", "cancel_url": "https://shop.example/cart"}'
call /_emulator/clock/advance '{"seconds": 0}' # returns when webhooks have been answered
call /_emulator/payments/latest/pay '{"phone": "0900000001"}'
call /_emulator/clock/advance '{"seconds": 0}'
