// Package paymentsemulator is a test helper for the payments emulator, on Go 1.19 or newer.
//
// `payments-emulator helper go` prints this file; run it again after an update.
package paymentsemulator

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Object is an object of the control API.
type Object = map[string]any

// Payment is the payment object of the API; Method and CompletedAt are empty where it has null.
type Payment struct {
	ID, Currency, Status, Method string
	Amount                       int
	Metadata                     map[string]string
	CheckoutURL                  string `json:"checkout_url"`
	SuccessURL                   string `json:"success_url"`
	CancelURL                    string `json:"cancel_url"`
	CreatedAt                    string `json:"created_at"`
	ExpiresAt                    string `json:"expires_at"`
	CompletedAt                  string `json:"completed_at"`
}

// Webhook is a received webhook, and Body has the signed bytes. IsVerified: the signature is
// correct, and its timestamp at most five minutes old.
type Webhook struct {
	ID, Type, Payment string
	Headers           http.Header
	Body              []byte
	IsVerified        bool
}

// Endpoint is an address that receives webhooks; Secret verifies them, and Format is their form.
type Endpoint struct {
	ID, URL, Secret string
	Format          struct {
		Name        string
		Body        any
		Headers     map[string]string
		Events      map[string]string
		ContentType string `json:"content_type"`
		Signature   struct{ Algorithm, Secret, Content, Encoding, Prefix, Separator string }
	}
}

// Error is a refused call, with the HTTP status and the code.
type Error struct {
	Status               int
	Code, Message, Param string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Emulator is a running emulator; BaseURL is the API root for the merchant's code.
type Emulator struct {
	BaseURL, CheckoutURL string
	receiverURL, log     string
	receiver             net.Listener
	accounts             sync.Map
	end                  func()
}

// Options of Start: Serve has options of `payments-emulator serve`, such as "--strict". By
// WebhookHost an emulator in a container reaches the tests.
type Options struct {
	Serve       []string
	WebhookHost string
}

// The shell reads from a pipe, which also closes when the test process is killed.
const launcher = `exec 3<&0; "$@" 3<&- & process=$!;
{ cat <&3; rm -rf "$0"; kill $process; } & wait $process; code=$?; kill $!; exit $code`

// Start uses the emulator at PAYMENTS_EMULATOR_URL, or starts one with PAYMENTS_EMULATOR_COMMAND.
func Start(options Options) (*Emulator, error) {
	e, start := &Emulator{end: func() {}}, (*Emulator).connect
	if os.Getenv("PAYMENTS_EMULATOR_URL") == "" {
		start = (*Emulator).launch
	}
	if err := start(e, options.Serve); err != nil {
		return nil, err
	}
	address, host := "127.0.0.1:0", "127.0.0.1"
	if options.WebhookHost != "" {
		address, host = ":0", options.WebhookHost
	}
	var err error
	if e.receiver, err = net.Listen("tcp", address); err != nil {
		e.end()
		return nil, err
	}
	e.receiverURL = fmt.Sprintf("http://%s:%d", host, e.receiver.Addr().(*net.TCPAddr).Port)
	go http.Serve(e.receiver, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if a, isKnown := e.accounts.Load(r.URL.Path); isKnown && err == nil {
			a.(*Account).receive(r.Header, body)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	return e, nil
}

// Stop ends the emulator, unless it is that of PAYMENTS_EMULATOR_URL.
func (e *Emulator) Stop() { e.receiver.Close(); e.end() }

func (e *Emulator) connect([]string) error {
	address := os.Getenv("PAYMENTS_EMULATOR_URL")
	e.BaseURL = strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1")
	addresses, err := e.call("GET", "/", "", nil)
	if err != nil {
		const message = "PAYMENTS_EMULATOR_URL is '%s': %w; expected the API address that 'serve' prints"
		return fmt.Errorf(message, address, err)
	}
	e.CheckoutURL = as[string](addresses["checkout"])
	return nil
}

func (e *Emulator) launch(options []string) error {
	name := os.Getenv("PAYMENTS_EMULATOR_COMMAND")
	if strings.TrimSpace(name) == "" {
		name = "payments-emulator"
	}
	words := strings.Fields(name)
	if _, err := os.Stat(name); err == nil {
		words = []string{name}
	}
	directory, err := os.MkdirTemp("", "payments-emulator-")
	if err != nil {
		return err
	}
	e.log = filepath.Join(directory, "emulator.log")
	ready := filepath.Join(directory, "ready.json")
	all := append(words, "serve", "--port", "0", "--checkout-port", "0", "--allow-http-localhost")
	all = append(append(all, "--ready-file", ready), options...)
	if runtime.GOOS != "windows" {
		all = append([]string{"sh", "-c", launcher, directory}, all...)
	}
	command := exec.Command(all[0], all[1:]...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "EMULATOR_") {
			command.Env = append(command.Env, variable)
		}
	}
	output, err := os.Create(e.log)
	if err != nil {
		return err
	}
	defer output.Close()
	command.Stdout, command.Stderr = output, output
	stdin, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { command.Wait(); close(ended) }()
	e.end = func() {
		stdin.Close()
		if runtime.GOOS == "windows" {
			command.Process.Kill()
		}
		<-ended
		os.RemoveAll(directory)
	}
	for polls := 0; polls < 1_500; polls++ {
		if text, err := os.ReadFile(ready); err == nil {
			addresses := struct{ API, Checkout *string }{&e.BaseURL, &e.CheckoutURL}
			return json.Unmarshal(text, &addresses)
		}
		select {
		case <-ended:
			polls = 1_500
		case <-time.After(20 * time.Millisecond):
		}
	}
	reason, _ := os.ReadFile(e.log)
	e.end()
	if command.ProcessState.ExitCode() != 127 {
		return fmt.Errorf("'%s serve' did not start: %s", name, bytes.TrimSpace(reason))
	}
	return fmt.Errorf("the command '%s' was not found: install etb-payments-emulator or activate its Python"+
		" environment, or set PAYMENTS_EMULATOR_COMMAND or PAYMENTS_EMULATOR_URL", words[0])
}

func (e *Emulator) call(method, path, key string, body any) (Object, error) {
	content, _ := json.Marshal(body)
	if body == nil {
		content = nil
	}
	request, err := http.NewRequest(method, e.BaseURL+"/_emulator"+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := (&http.Client{Timeout: 90 * time.Second}).Do(request)
	if err != nil {
		hint := ""
		if e.log != "" {
			hint = "; see its log " + e.log
		}
		return nil, fmt.Errorf("the payments emulator at %s does not respond: %w%s", e.BaseURL, err, hint)
	}
	defer response.Body.Close()
	var value Object
	err = json.NewDecoder(response.Body).Decode(&value)
	if status := response.StatusCode; status == http.StatusNoContent || status < 400 && err == nil {
		return value, nil
	}
	refusal := as[Error](value["error"])
	if refusal.Status = response.StatusCode; refusal.Code != "" {
		return nil, &refusal
	}
	return nil, fmt.Errorf("%s %s returned %s: this is not a payments emulator", method, request.URL, response.Status)
}

// Converts a value of the control API to a type.
func as[T any](value any) (converted T) {
	text, _ := json.Marshal(value)
	json.Unmarshal(text, &converted)
	return converted
}

var shared struct {
	sync.Once
	emulator *Emulator
	err      error
}

// NewAccount creates an account of an emulator that the tests of a package share, and that ends
// with their process.
func NewAccount(t testing.TB) *Account {
	t.Helper()
	shared.Do(func() { shared.emulator, shared.err = Start(Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.emulator.CreateAccount(t, nil)
}

// CreateAccount creates an account that is deleted at the end of the test. The options are those of
// `POST /accounts`; the default clock does not move by itself.
func (e *Emulator) CreateAccount(t testing.TB, options Object) *Account {
	t.Helper()
	body := Object{"clock": "frozen@2026-01-01T00:00:00Z"}
	if key := os.Getenv("PAYMENTS_EMULATOR_TEST_KEY"); e.log == "" && key != "" {
		body["takes_over"] = key
	}
	for name, value := range options {
		body[name] = value
	}
	created, err := e.call("POST", "/accounts", "", body)
	// Without the key if another account has it, or if it is not that of the first account.
	if refusal, isRefusal := err.(*Error); isRefusal && refusal.Param == "takes_over" {
		body["takes_over"] = options["takes_over"]
		created, err = e.call("POST", "/accounts", "", body)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := &Account{t: t, emulator: e, BaseURL: e.BaseURL, ID: as[string](created["id"])}
	a.TestKey, a.LiveKey = as[string](created["test_key"]), as[string](created["live_key"])
	a.inbox = a.DeliverTo(e.receiverURL + "/" + a.ID)
	a.WebhookSecret = a.inbox.Secret
	e.accounts.Store("/"+a.ID, a)
	t.Cleanup(func() {
		if _, exists := e.accounts.Load("/" + a.ID); exists {
			a.Delete()
		}
	})
	// Webhooks of an emulator that runs elsewhere may not arrive.
	path := "/webhook_endpoints/" + a.inbox.ID
	if e.log == "" && a.must("POST", path+"/ping", nil)["status"] != "succeeded" {
		a.problem = fmt.Sprintf("webhooks of the payments emulator at %s do not reach the tests at %s;"+
			" set WebhookHost, such as host.docker.internal", e.BaseURL, e.receiverURL)
		a.must("DELETE", path, nil)
	}
	a.clear()
	return a
}

// Account is a merchant's account. When a call returns, webhooks that were due have been delivered.
// An error ends the test, except that of Control. WebhookSecret verifies Webhooks.
type Account struct {
	ID, BaseURL, TestKey, LiveKey, WebhookSecret string

	t        testing.TB
	emulator *Emulator
	inbox    Endpoint
	problem  string
	mutex    sync.Mutex
	received []Webhook
	seen     int
}

// By is how a customer pays: by a method, a phone or a bank.
type By struct {
	Method string `json:"method,omitempty"`
	Phone  string `json:"phone,omitempty"`
	Bank   string `json:"bank,omitempty"`
}

// Pay pays as on the checkout page. The default is a phone or bank whose payments succeed. A
// bank_transfer stays processing until Answer.
func (a *Account) Pay(id string, by ...By) Payment {
	a.t.Helper()
	return a.act(id, "pay", append(by, By{})[0])
}

// Answer answers on the phone or at the bank: "approve", "cancel", "wrong_pin" etc.
func (a *Account) Answer(id, answer string) Payment {
	a.t.Helper()
	return a.act(id, "answer", Object{"answer": answer})
}

// Cancel presses the page's cancel button, which leaves the payment pending.
func (a *Account) Cancel(id string) Payment { a.t.Helper(); return a.act(id, "cancel", nil) }

// Refund refunds a completed payment.
func (a *Account) Refund(id string) Payment { a.t.Helper(); return a.Transition(id, "refunded") }

// Transition sets a status by any legal transition, also before it is due.
func (a *Account) Transition(id, status string) Payment {
	a.t.Helper()
	return a.act(id, "transition", Object{"status": status})
}

// Advance advances the clock; it returns what happened.
func (a *Account) Advance(span time.Duration) []Object {
	a.t.Helper()
	advanced := a.must("POST", "/clock/advance", Object{"seconds": span.Seconds()})
	if advanced["settled"] != true {
		a.t.Fatalf("the clock stopped at %s: a webhook receiver is too slow", advanced["now"])
	}
	return a.withoutInbox(as[[]Object](advanced["effects"]))
}

// UseScenario enables one of the emulator's scenarios.
func (a *Account) UseScenario(name string) Object {
	a.t.Helper()
	return a.must("PUT", "/scenarios/"+url.PathEscape(name)+"/enabled", Object{"enabled": true})
}

// Fault makes one request fail: Fault("create_payment", Object{"drop": true, "point": "after_commit"}).
func (a *Account) Fault(request string, then Object) Object {
	a.t.Helper()
	return a.must("POST", "/faults", Object{"when": Object{"request": request}, "then": then, "times": 1})
}

// Webhooks returns the webhooks that the test received, in order of arrival.
func (a *Account) Webhooks() []Webhook {
	a.t.Helper()
	if a.problem != "" {
		a.t.Fatal(a.problem)
	}
	a.Advance(0)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return append([]Webhook{}, a.received...)
}

// NewWebhooks returns the webhooks since the last call, for the merchant's handler.
func (a *Account) NewWebhooks() []Webhook {
	a.t.Helper()
	webhooks := a.Webhooks()[a.seen:]
	a.seen += len(webhooks)
	return webhooks
}

// DeliverTo also sends later webhooks to the merchant's application. The options are those of
// `POST /webhook_endpoints`, such as "secret" and "format".
func (a *Account) DeliverTo(url string, options ...Object) Endpoint {
	a.t.Helper()
	body := Object{"url": url}
	if secret := os.Getenv("PAYMENTS_EMULATOR_WEBHOOK_SECRET"); secret != "" {
		body["secret"] = secret
	}
	for _, each := range options {
		for name, value := range each {
			body[name] = value
		}
	}
	return as[Endpoint](a.must("POST", "/webhook_endpoints", body))
}

// Deliveries returns the webhooks that the merchant's application was sent, with all attempts.
func (a *Account) Deliveries() []Object {
	a.t.Helper()
	a.Advance(0)
	return a.withoutInbox(a.listed("/deliveries"))
}

// Payment returns a payment.
func (a *Account) Payment(id string) Payment {
	a.t.Helper()
	return as[Payment](a.must("GET", "/payments/"+url.PathEscape(id), nil)["payment"])
}

// Requests returns the requests of the merchant's code and their responses, the oldest first.
func (a *Account) Requests() []Object { a.t.Helper(); return a.listed("/requests") }

// Checklist returns what the merchant's integration does right and wrong, without the webhooks of
// the test.
func (a *Account) Checklist() []Object {
	a.t.Helper()
	a.Advance(0)
	path := "/checklist"
	if a.problem == "" {
		path += "?exclude_endpoint=" + a.inbox.ID
	}
	return as[[]Object](a.must("GET", path, nil)["data"])
}

// Control makes any call of the control API, such as Control("PUT", "/clock", Object{"frozen": false}).
func (a *Account) Control(method, path string, body any) (Object, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("'%s' is not a path such as '/clock'", path)
	}
	return a.emulator.call(method, path, a.TestKey, body)
}

// Reset restores the initial state, without the payments, faults and endpoints of the test.
func (a *Account) Reset() {
	a.t.Helper()
	a.must("POST", "/reset", nil)
	if a.problem == "" {
		endpoint := a.DeliverTo(a.inbox.URL, Object{"secret": a.WebhookSecret})
		a.mutex.Lock()
		a.inbox = endpoint
		a.mutex.Unlock()
	}
	a.clear()
}

func (a *Account) clear() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.received, a.seen = nil, 0
}

// Delete deletes the account.
func (a *Account) Delete() {
	a.t.Helper()
	a.emulator.accounts.Delete("/" + a.ID)
	a.must("DELETE", "/accounts/"+a.ID, nil)
}

func (a *Account) must(method, path string, body any) Object {
	a.t.Helper()
	value, err := a.Control(method, path, body)
	if err != nil {
		a.t.Fatal(err)
	}
	return value
}

func (a *Account) act(id, action string, body any) Payment {
	a.t.Helper()
	payment := a.must("POST", "/payments/"+url.PathEscape(id)+"/"+action, body)
	a.Advance(0)
	return as[Payment](payment)
}

func (a *Account) listed(path string) []Object {
	a.t.Helper()
	entries := as[[]Object](a.must("GET", path+"?limit=1000", nil)["data"])
	for i, j := 0, len(entries)-1; i < j; i, j = i+1, j-1 {
		entries[i], entries[j] = entries[j], entries[i]
	}
	return entries
}

func (a *Account) withoutInbox(entries []Object) (shown []Object) {
	for _, entry := range entries {
		if entry["endpoint"] != a.inbox.ID {
			shown = append(shown, entry)
		}
	}
	return shown
}

// Reads a webhook in the form of the inbox.
func (a *Account) receive(all http.Header, body []byte) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	form, values := a.inbox.Format, Object{}
	var event any
	if form.ContentType == "application/json" {
		json.Unmarshal(body, &event)
	} else {
		fields, _ := url.ParseQuery(string(body))
		values := Object{}
		for name := range fields {
			values[name] = fields.Get(name)
		}
		event = values
	}
	collect(form.Body, event, values)
	headers := http.Header{"Content-Type": all["Content-Type"], "User-Agent": all["User-Agent"]}
	for name, template := range form.Headers {
		headers[http.CanonicalHeaderKey(name)] = all.Values(name)
		collect(template, all.Get(name), values)
	}
	if payment, isObject := values["payment"].(Object); isObject {
		values["payment.id"], values["payment.status"] = payment["id"], payment["status"]
	}
	if values["id"] == nil {
		values["id"] = values["event.id"]
	}
	text := func(name string) string { return textOf(valueOf(values, name)) }
	// The emulator's name of the type; that of the status where the form has none, or has it twice.
	kind, status, names := text("event.type"), text("payment.status"), 0
	for name, sent := range form.Events {
		if sent == text("event.type") && sent != "" {
			kind, names = name, names+1
		}
	}
	if status != "" && (kind == "" || names > 1) {
		kind = strings.Replace("payment."+status, "pending", "created", 1)
	}
	isVerified := isRecent(form.Headers, text("timestamp")) && isSigned(a.inbox, text, body)
	a.received = append(a.received, Webhook{text("id"), kind, text("payment.id"), headers, body, isVerified})
}

var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

// Collects the values at the placeholders of a template, in what was received.
func collect(template, received any, values Object) {
	switch template := template.(type) {
	case Object:
		all, _ := received.(Object)
		for name, each := range template {
			collect(each, all[name], values)
		}
	case []any:
		all, _ := received.([]any)
		for i := 0; i < len(template) && i < len(all); i++ {
			collect(template[i], all[i], values)
		}
	case string:
		names := placeholder.FindAllStringSubmatch(template, -1)
		if len(names) == 1 && names[0][0] == template {
			values[names[0][1]] = received
			return
		}
		parts := placeholder.Split(template, -1)
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		pattern := regexp.MustCompile("(?s)^" + strings.Join(parts, "(.*?)") + "$")
		match := pattern.FindStringSubmatch(as[string](received))
		for i := 1; i < len(match); i++ {
			values[names[i-1][1]] = match[i]
		}
	}
}

// Returns the value at a placeholder, or the one that follows from the values at others.
func valueOf(values Object, name string) any {
	if value, isFound := values[name]; isFound {
		return value
	}
	if name == "event.id" {
		return values["id"]
	}
	if name == "payment.amount_birr" {
		cents := textOf(valueOf(values, "payment.amount"))
		for len(cents) < 3 {
			cents = "0" + cents
		}
		return cents[:len(cents)-2] + "." + cents[len(cents)-2:]
	}
	whole := "payment"
	if strings.HasPrefix(name, "payment.metadata.") {
		whole = "payment.metadata"
	}
	var members Object
	if strings.HasPrefix(name, whole+".") {
		members, _ = valueOf(values, whole).(Object)
	}
	return members[strings.TrimPrefix(name, whole+".")]
}

func textOf(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	// The names of a mapping are sorted, not in the order in which they were sent.
	written, _ := json.Marshal(value)
	return string(written)
}

func isRecent(headers map[string]string, timestamp string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	age := time.Since(time.Unix(seconds, 0))
	return err == nil && age.Abs() <= 5*time.Minute || !strings.Contains(fmt.Sprint(headers), "{timestamp}")
}

func isSigned(endpoint Endpoint, text func(string) string, body []byte) bool {
	form := endpoint.Format.Signature
	algorithms := map[string]func() hash.Hash{"hmac-sha1": sha1.New, "hmac-sha256": sha256.New, "hmac-sha512": sha512.New}
	algorithm, isKnown := algorithms[form.Algorithm]
	if form.Algorithm == "token" {
		return hmac.Equal([]byte(text("signature")), []byte(form.Prefix+endpoint.Secret))
	} else if !isKnown {
		return false
	}
	key := []byte(endpoint.Secret)
	if form.Secret == "base64" {
		key, _ = base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimPrefix(endpoint.Secret, "whsec_"), "="))
	} else if form.Secret == "hex" {
		key, _ = hex.DecodeString(endpoint.Secret)
	}
	mac := hmac.New(algorithm, key)
	io.WriteString(mac, placeholder.ReplaceAllStringFunc(form.Content, func(name string) string {
		if name == "{body}" {
			return string(body)
		}
		return text(strings.Trim(name, "{}"))
	}))
	expected := form.Prefix + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if form.Encoding == "hex" {
		expected = form.Prefix + hex.EncodeToString(mac.Sum(nil))
	}
	given := []string{text("signature")}
	if form.Separator != "" {
		given = strings.Split(given[0], form.Separator)
	}
	for _, each := range given {
		if hmac.Equal([]byte(each), []byte(expected)) {
			return true
		}
	}
	return false
}
