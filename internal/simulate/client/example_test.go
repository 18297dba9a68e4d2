package client_test

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// twoAtATime is about the simplest Policy there is.
type twoAtATime struct{}

func (twoAtATime) Admit(_ time.Duration, _ *client.Call, inFlight int) time.Duration {
	if inFlight < 2 {
		return 0
	}
	return client.Forever
}
func (twoAtATime) Slack(time.Duration)              {}
func (twoAtATime) Sent(time.Duration, *client.Call) {}
func (twoAtATime) Answered(time.Duration, *client.Call, int, *provider.Answer) (backoff time.Duration, keep bool) {
	return 0, false
}

func ExampleRun() {
	setting := client.Setting{
		Provider: provider.Config{Cap: 2},
		Latency:  time.Second, Net: 20 * time.Millisecond, Refusal: 150 * time.Millisecond, Processes: 1,
	}
	policy := client.Contender{Name: "two", New: func(client.Seat) (client.Policy, error) { return twoAtATime{}, nil }}

	results, err := client.Run(setting, policy, 1, client.Watch{})
	fmt.Println(results[0].Measured.Refused, results[0].Drawn == results[0].Done+results[0].Left, err)
	// Output: 0 true <nil>
}
