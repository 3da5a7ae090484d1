package shop

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"shop/paymentsemulator"
)

func TestACustomerPays(t *testing.T) {
	account := paymentsemulator.NewAccount(t)
	id := createPayment(t, account)
	account.Pay(id, paymentsemulator.By{Phone: "0900000001"})
	if status := account.Payment(id).Status; status != "completed" {
		t.Errorf("the payment is %s", status)
	}
	for _, webhook := range account.NewWebhooks() {
		// Pass webhook.Headers and webhook.Body to your handler, with account.WebhookSecret.
		if !webhook.IsVerified {
			t.Errorf("%s has a wrong signature", webhook.Type)
		}
	}
}

func TestACustomerDoesNotAnswer(t *testing.T) {
	account := paymentsemulator.NewAccount(t)
	id := createPayment(t, account)
	account.Pay(id, paymentsemulator.By{Phone: "0900000003"})
	account.Advance(30 * time.Second)
	if status := account.Payment(id).Status; status != "failed" {
		t.Errorf("the payment is %s", status)
	}
}

// In place of your own code.
func createPayment(t *testing.T, account *paymentsemulator.Account) string {
	body := `{"amount": 15000, "currency": "ETB", "methods": ["telebirr", "mpesa"],
		"success_url": "http://localhost:4000/thanks", "cancel_url": "http://localhost:4000/cart"}`
	request, _ := http.NewRequest("POST", account.BaseURL+"/v1/payments", strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+account.TestKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var payment struct{ ID string }
	if err := json.NewDecoder(response.Body).Decode(&payment); err != nil {
		t.Fatal(err)
	}
	return payment.ID
}
