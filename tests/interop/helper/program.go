// program start HOST [OPTION…] | wait | secrets SECRET | forms NAME
package main

import (
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"shop"
	"shop/paymentsemulator"
)

// A test that prints why it fails.
type program struct{ testing.TB }

func (program) Helper()                {}
func (program) Cleanup(func())         {}
func (program) Fatal(arguments ...any) { fmt.Println(arguments...); os.Exit(0) }

func main() {
	mode, argument := os.Args[1], append(os.Args, "-")[2]
	switch mode {
	case "secrets":
		secrets(argument)
	case "forms":
		forms(argument)
	default:
		start(mode, argument)
	}
}

func started(options paymentsemulator.Options) (*paymentsemulator.Emulator, *paymentsemulator.Account) {
	emulator, err := paymentsemulator.Start(options)
	if err != nil {
		program{}.Fatal(err)
	}
	return emulator, emulator.CreateAccount(program{}, nil)
}

// Prints the emulator's addresses and the number of webhooks, or what prevents them.
func start(mode, host string) {
	options := paymentsemulator.Options{}
	if mode == "start" {
		options.Serve = os.Args[3:]
		options.WebhookHost = strings.TrimPrefix(host, "-")
	}
	emulator, account := started(options)
	fmt.Println(emulator.BaseURL, emulator.CheckoutURL, len(account.Webhooks()))
	if mode == "wait" {
		time.Sleep(600 * time.Second)
	}
	emulator.Stop()
}

// Prints the secrets of an account's webhooks, of an endpoint, and of one with its own secret.
func secrets(secret string) {
	_, account := started(paymentsemulator.Options{})
	shop := account.DeliverTo("http://127.0.0.1:9/a")
	own := account.DeliverTo("http://127.0.0.1:9/b", paymentsemulator.Object{"secret": secret})
	fmt.Println(account.WebhookSecret, shop.Secret, own.Secret)
}

// With webhooks in a form, prints those of a payment, then those of one with a changed body, and
// the form of an endpoint in the form `hex-header`.
func forms(name string) {
	emulator, account := started(paymentsemulator.Options{Serve: []string{"--webhook-format=" + name}})
	pay(account, "1")
	tamper := "body"
	if strings.Contains(name, "token") {
		tamper = "signature"
	}
	rule := paymentsemulator.Object{"when": paymentsemulator.Object{}, "then": paymentsemulator.Object{"tamper": tamper}}
	scenario := paymentsemulator.Object{"name": "forged", "webhooks": []any{rule}}
	if _, err := account.Control("PUT", "/scenarios/forged", scenario); err != nil {
		program{}.Fatal(err)
	}
	pay(account, "2")
	options := paymentsemulator.Object{"secret": strings.Repeat("a", 24), "format": "hex-header"}
	fmt.Println(account.DeliverTo("http://127.0.0.1:9/a", options).Format.Name)
	emulator.Stop()
}

func pay(account *paymentsemulator.Account, number string) {
	merchant := shop.Shop{BaseURL: account.BaseURL, Key: account.TestKey}
	id, err := merchant.Order(number, 15_000)
	if err != nil {
		program{}.Fatal(err)
	}
	account.Pay(id)
	for _, webhook := range account.NewWebhooks() {
		fmt.Println(webhook.Type, webhook.Payment == id, webhook.IsVerified, names(webhook.Headers))
	}
}

func names(headers http.Header) string {
	var lower []string
	for name := range headers {
		lower = append(lower, strings.ToLower(name))
	}
	sort.Strings(lower)
	return strings.Join(lower, ",")
}
