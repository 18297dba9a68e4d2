// Custom detection: how headrace learns what a refusal looks like.
//
// The default detector knows HTTP status codes and the errors of the usual
// SDKs, and a preset knows its provider. This service is none of them: it
// refuses with status 200 and an error in the body. A detector is a function
// that looks at an error and says what it was; what it does not know goes on to
// the default detector. A hit is waited out and sent again: the item neither
// fails nor uses up a retry.
//
//	go run ./examples/customdetection
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/examples/internal/chat"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
)

// ServiceError is what the client makes of an answer that is an error. Without
// this step the answer would pass for a result.
type ServiceError struct {
	Code   string `json:"error"`
	WaitMS int64  `json:"wait_ms"`
}

// Error implements error.
func (e *ServiceError) Error() string { return "the service says " + e.Code }

// detect says what an error of this service means.
func detect(err error) adaptive.Feedback {
	e, ok := errors.AsType[*ServiceError](err)
	if !ok {
		return adaptive.Feedback{} // not mine: ask the default detector
	}
	switch e.Code {
	case "BUSY":
		return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Duration(e.WaitMS) * time.Millisecond}
	case "NO_CREDIT":
		return adaptive.Feedback{Verdict: adaptive.Terminal} // all calls stop: waiting does not help
	default:
		return adaptive.Feedback{Verdict: adaptive.OK} // an answer like any other; the item fails
	}
}

// translate is the client's function.
func translate(client chat.Client) func(context.Context, string) (string, error) {
	return func(ctx context.Context, word string) (string, error) {
		body, _, err := client.Do(ctx, word, word)
		if err != nil {
			return "", err
		}
		var answer struct {
			ServiceError

			Text string `json:"text"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return "", err
		}
		if answer.Code != "" {
			return "", &answer.ServiceError
		}
		return answer.Text, nil
	}
}

// service is busy at every third call, and does not know mills.
func service() (*providertest.Server, error) {
	var calls atomic.Int64
	return providertest.New(providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		body := fmt.Sprintf(`{"text": %q}`, "das "+strings.ToUpper(r.Key))
		if calls.Add(1)%3 == 0 {
			body = `{"error": "BUSY", "wait_ms": 20}`
		} else if r.Key == "mill" {
			body = `{"error": "UNKNOWN_WORD"}`
		}
		return &providertest.Fault{Status: 200, Body: body}
	}})
}

func run(ctx context.Context) error {
	provider, err := service()
	if err != nil {
		return err
	}
	defer provider.Close()

	ctx = event.With(ctx, event.Func(func(e event.Event) {
		if e.Kind == event.LimiterHit {
			fmt.Println("refused:", e.Err)
		}
	}))
	words := node.Map("translate", translate(chat.New(provider))).With(guard.Policy{Detector: detect})
	out, err := words.All(ctx, []string{"wheel", "gate", "water", "mill", "flour"})
	fmt.Printf("%q\n", out)
	fmt.Println(err)
	fmt.Println(provider.Counts().Arrivals, "calls for 5 words")
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
