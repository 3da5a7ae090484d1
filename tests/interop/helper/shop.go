// Package shop is a small shop: it creates a payment for each order, and ships an order once it is
// paid.
package shop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const maxTries = 3

// Shop knows the address of the payments service.
type Shop struct {
	BaseURL, Key string
	Shipped      []string

	mutex sync.Mutex
	known map[string]bool
}

// Order repeats a request without a response; the idempotency key prevents a second payment.
func (s *Shop) Order(number string, amount int) (id string, err error) {
	for tries := 0; tries < maxTries; tries++ {
		if id, err = s.createPayment(number, amount); err == nil {
			break
		}
	}
	return id, err
}

func (s *Shop) createPayment(number string, amount int) (string, error) {
	body, _ := json.Marshal(map[string]any{
		"amount":          amount,
		"currency":        "ETB",
		"methods":         []string{"telebirr", "mpesa", "bank_transfer"},
		"success_url":     "http://localhost:4000/orders/" + number,
		"cancel_url":      "http://localhost:4000/cart",
		"metadata":        map[string]string{"order": number},
		"idempotency_key": "order-" + number,
	})
	request, err := http.NewRequest("POST", s.BaseURL+"/v1/payments", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	// Go's client repeats a request by itself if it can send the body again.
	request.GetBody = nil
	request.Header.Set("Authorization", "Bearer "+s.Key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var payment struct {
		ID    string
		Error struct{ Code string }
	}
	if err := json.NewDecoder(response.Body).Decode(&payment); err != nil {
		return "", err
	}
	if payment.Error.Code != "" {
		return "", errors.New(payment.Error.Code)
	}
	return payment.ID, nil
}

// Receive handles a webhook; it returns the status of the response.
func (s *Shop) Receive(headers http.Header, body []byte, secret string) int {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return http.StatusBadRequest
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return http.StatusBadRequest
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if !hmac.Equal([]byte(expected), []byte(headers.Get("webhook-signature"))) {
		return http.StatusBadRequest
	}
	var event struct {
		Type string
		Data struct{ Metadata map[string]string }
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return http.StatusBadRequest
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if event.Type == "payment.completed" && !s.known[id] {
		s.Shipped = append(s.Shipped, event.Data.Metadata["order"])
	}
	s.known[id] = true
	return http.StatusNoContent
}
