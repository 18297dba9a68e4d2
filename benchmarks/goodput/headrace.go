package goodput

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/throttle"
)

// headrace is our limiter with the controller that ships, told no limit. Blind it
// hears refusals and Retry-After only.
func headrace(name string, blind bool) Contender {
	measured := adaptive.Measured{Max: most, IgnoreHeaders: blind}
	about := "guard.Guard with adaptive.Measured"
	if !blind {
		about += ", which also reads the rate-limit headers"
	}
	simulated := law.Drive(name, measured, !blind)
	return Contender{
		Name: name, About: about, Headers: !blind, Workers: adaptiveWorkers, Simulated: &simulated,
		Start: func(w *wire, _ uint64) (Caller, error) {
			limiter, err := guard.New(guard.Policy{Name: name, Law: measured})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) error {
				return limiter.Do(ctx, throttle.Cost{Requests: 1}, w.call)
			}, nil
		},
	}
}

// call makes one attempt and reports what the answer's headers say.
func (w *wire) call(ctx context.Context) error {
	request, err := w.request(ctx)
	if err != nil {
		return err
	}
	answer, err := whole{w.transport}.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	guard.Report(ctx, adaptive.Feedback{Meters: meters(answer.Header)})
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	var body struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	_ = json.NewDecoder(answer.Body).Decode(&body) // without a type it is still a refusal
	return &statusError{StatusCode: answer.StatusCode, Type: body.Error.Type, Response: answer}
}
