package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type event struct {
	ID, Type string
	Data     struct{ ID, Status string }
}

var jobs = make(chan event, 1000)
var done = map[string]bool{} // a real shop uses a table, in the transaction of the change

func isGenuine(body []byte, header http.Header, secret string) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic("the secret is not valid base64")
	}
	timestamp := header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(header.Get("webhook-id") + "." + timestamp + "."))
	mac.Write(body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	isSigned := false
	for _, each := range strings.Fields(header.Get("webhook-signature")) {
		isSigned = isSigned || hmac.Equal([]byte(expected), []byte(each))
	}
	sentAt, err := strconv.ParseInt(timestamp, 10, 64)
	return isSigned && err == nil && time.Since(time.Unix(sentAt, 0)).Abs() < 5*time.Minute
}

func work() {
	for each := range jobs {
		if err := settle(each); err != nil {
			log.Print(err)
		}
	}
}

func settle(received event) error {
	if !strings.HasPrefix(received.Type, "payment.") {
		return nil // a ping
	}
	limited, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	url := os.Getenv("PAYMENTS_URL") + "/v1/payments/" + received.Data.ID
	request, err := http.NewRequestWithContext(limited, "GET", url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("PAYMENTS_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	payment := received.Data
	err = json.NewDecoder(response.Body).Decode(&payment)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	if !done[received.ID] {
		done[received.ID] = true
		fmt.Println(payment.ID, "is", payment.Status)
	}
	return nil
}
