package shop

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"shop/paymentsemulator"
)

var emulator *paymentsemulator.Emulator

func TestMain(m *testing.M) {
	var err error
	emulator, err = paymentsemulator.Start(paymentsemulator.Options{Serve: []string{"--seed", "1"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	emulator.Stop()
	os.Exit(code)
}

func open(t *testing.T) (*paymentsemulator.Account, *Shop) {
	account := emulator.CreateAccount(t, nil)
	key, isShared := os.LookupEnv("PAYMENTS_EMULATOR_TEST_KEY")
	if !isShared {
		key = account.TestKey
	}
	return account, &Shop{BaseURL: account.BaseURL, Key: key}
}

func order(t *testing.T, shop *Shop, number string) string {
	t.Helper()
	id, err := shop.Order(number, 15_000)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func equal(t *testing.T, found any, expected any) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Errorf("found %v, expected %v", found, expected)
	}
}

func TestCreatesAPayment(t *testing.T) {
	account, shop := open(t)
	payment := account.Payment(order(t, shop, "1"))
	equal(t, payment.Status+" "+payment.Currency, "pending ETB")
	equal(t, payment.Amount, 15_000)
	equal(t, payment.Metadata, map[string]string{"order": "1"})
	equal(t, strings.HasPrefix(payment.CheckoutURL, emulator.CheckoutURL), true)
	equal(t, [2]string{payment.Method, payment.CompletedAt}, [2]string{})
	equal(t, payment.CreatedAt[:10]+payment.ExpiresAt[10:16], "2026-01-01T00:30")
	request := account.Requests()[0]
	equal(t, []any{request["method"], request["status"]}, []any{"POST", 201.0})
	live := order(t, &Shop{BaseURL: account.BaseURL, Key: account.LiveKey}, "1")
	_, err := account.Control("GET", "/payments/"+live, nil)
	equal(t, strings.HasPrefix(err.Error(), "payment_not_found: "), true)
}

func TestPaysWithEachMethod(t *testing.T) {
	account, shop := open(t)
	equal(t, account.Pay(order(t, shop, "1")).Method, "telebirr")
	id := order(t, shop, "2")
	waiting := account.Pay(id, paymentsemulator.By{Phone: "0711223344"})
	equal(t, waiting.Status+" "+waiting.Method, "processing mpesa")
	equal(t, account.Answer(id, "approve").Status, "completed")
	atBank := account.Pay(order(t, shop, "3"), paymentsemulator.By{Method: "bank_transfer"})
	equal(t, atBank.Status+" "+atBank.Method, "processing bank_transfer")
}

func TestFailsAfter30SecondsWithoutAnAnswer(t *testing.T) {
	account, shop := open(t)
	id := order(t, shop, "1")
	account.Pay(id, paymentsemulator.By{Phone: "0900000003"})
	account.Advance(29_500 * time.Millisecond)
	equal(t, account.Payment(id).Status, "processing")
	effects := account.Advance(500 * time.Millisecond)
	equal(t, len(effects), 1)
	equal(t, effects[0]["payment"], id)
	equal(t, account.Payment(id).Status, "failed")
}

func TestVerifiesWebhooksThatAreDeliveredToTheShop(t *testing.T) {
	account, shop := open(t)
	secret, statuses := serve(t, shop, account)
	account.Pay(order(t, shop, "1"))
	webhook := account.NewWebhooks()[0]
	equal(t, *statuses, []int{204, 204, 204})
	equal(t, shop.Shipped, []string{"1"})
	var types []any
	for _, delivery := range account.Deliveries() {
		types = append(types, delivery["type"])
	}
	equal(t, types, []any{"payment.created", "payment.processing", "payment.completed"})
	equal(t, shop.Receive(webhook.Headers, webhook.Body, account.WebhookSecret), 204)
	equal(t, shop.Receive(webhook.Headers, webhook.Body, secret), 400)
}

func TestChecksTheShopAndNotTheInboxOfTheTest(t *testing.T) {
	account, shop := open(t)
	equal(t, judged(account, "webhook-acknowledged"), "not_exercised")
	serve(t, shop, account)
	account.UseScenario("forged-webhooks")
	account.Pay(order(t, shop, "1"))
	equal(t, judged(account, "webhook-signature"), "passed")
	equal(t, judged(account, "create-idempotent"), "passed")
}

func TestShipsOnceAfterADuplicateWebhook(t *testing.T) {
	account, shop := open(t)
	account.UseScenario("duplicate-webhooks")
	id := order(t, shop, "1")
	account.Pay(id)
	webhooks := account.NewWebhooks()
	var completed []string
	for _, webhook := range webhooks {
		if webhook.Type == "payment.completed" {
			completed = append(completed, webhook.Payment)
		}
		equal(t, shop.Receive(webhook.Headers, webhook.Body, account.WebhookSecret), 204)
	}
	equal(t, completed, []string{id, id})
	equal(t, shop.Shipped, []string{"1"})
	equal(t, len(account.NewWebhooks()), 0)
	equal(t, account.Webhooks(), webhooks)
}

func TestCreatesOnePaymentWhenAResponseIsLost(t *testing.T) {
	account, shop := open(t)
	account.Fault("create_payment", paymentsemulator.Object{"drop": true, "point": "after_commit"})
	id := order(t, shop, "1")
	var replayed []any
	for _, request := range account.Requests() {
		replayed = append(replayed, request["replayed"])
	}
	equal(t, replayed, []any{false, true})
	webhooks := account.Webhooks()
	equal(t, len(webhooks), 1)
	equal(t, webhooks[0].Payment, id)
}

func TestExpiresAfter30Minutes(t *testing.T) {
	account, shop := open(t)
	id := order(t, shop, "1")
	account.Advance(30 * time.Minute)
	equal(t, account.Payment(id).Status, "expired")
	other := &failing{TB: t}
	defer func() {
		recover()
		equal(t, strings.HasPrefix(other.message, "payment_not_found: "), true)
	}()
	_, err := account.Control("POST", "/payments/"+id+"/pay", paymentsemulator.Object{})
	var refusal *paymentsemulator.Error
	equal(t, errors.As(err, &refusal), true)
	equal(t, *refusal, paymentsemulator.Error{Status: 409, Code: "payment_not_payable", Message: refusal.Message})
	_, err = account.Control("GET", "clock", nil)
	equal(t, err.Error(), "'clock' is not a path such as '/clock'")
	emulator.CreateAccount(other, nil).Pay(id)
}

func TestRefundsAPayment(t *testing.T) {
	account, shop := open(t)
	id := order(t, shop, "1")
	account.Pay(id)
	equal(t, account.Refund(id).Status, "refunded")
	webhooks := account.Webhooks()
	equal(t, webhooks[len(webhooks)-1].Type, "payment.refunded")
}

func TestCancelsAPaymentWhichStaysPending(t *testing.T) {
	account, shop := open(t)
	id := order(t, shop, "1")
	equal(t, account.Cancel(id).Status, "pending")
	equal(t, account.Transition(id, "expired").Status, "expired")
}

func TestBeginsAgainAfterAReset(t *testing.T) {
	account, shop := open(t)
	account.DeliverTo("http://127.0.0.1:9/webhooks")
	order(t, shop, "1")
	account.NewWebhooks()
	account.Reset()
	equal(t, len(account.Requests())+len(account.Webhooks()), 0)
	id := order(t, shop, "1")
	webhook := account.NewWebhooks()[0]
	equal(t, []any{webhook.Payment, webhook.IsVerified}, []any{id, true})
	equal(t, webhook.Headers.Get("Webhook-Id"), webhook.ID)
	equal(t, shop.Receive(webhook.Headers, webhook.Body, account.WebhookSecret), 204)
	equal(t, len(account.Deliveries())+len(account.Advance(0)), 0)
}

func TestIsolatesParallelAccounts(t *testing.T) {
	for _, name := range []string{"a", "b", "c", "d"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := paymentsemulator.NewAccount(t)
			equal(t, account.BaseURL != emulator.BaseURL, true)
			shop := &Shop{BaseURL: account.BaseURL, Key: account.TestKey}
			id := order(t, shop, "1")
			account.Pay(id)
			webhooks := account.Webhooks()
			equal(t, len(webhooks), 3)
			equal(t, webhooks[2].Payment, id)
			account.Delete()
		})
	}
}

func serve(t *testing.T, shop *Shop, account *paymentsemulator.Account) (string, *[]int) {
	var endpoint paymentsemulator.Endpoint
	statuses := []int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := shop.Receive(r.Header, body, endpoint.Secret)
		statuses = append(statuses, status)
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	endpoint = account.DeliverTo(server.URL + "/webhooks")
	return endpoint.Secret, &statuses
}

func judged(account *paymentsemulator.Account, id string) any {
	for _, item := range account.Checklist() {
		if item["id"] == id {
			return item["result"]
		}
	}
	return nil
}

// A test whose failure another test expects.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatal(arguments ...any) {
	f.message = fmt.Sprint(arguments...)
	panic(f)
}
