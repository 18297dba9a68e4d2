package telemetry_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/telemetry"
)

func TestNewMakesTheInstruments(t *testing.T) {
	r, _ := record(t, telemetry.Config{})
	const times = "[0.005 0.01 0.025 0.05 0.075 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 30 60 300 900]"
	const sizes = "[0 256 1024 4096 16384 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07 6.7108864e+07]"
	const tasks = "[0.001 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 300 900]"
	const runs = "[0.01 0.1 0.5 1 2.5 5 10 30 60 300 900 3600 14400 86400]"
	assert.Equal(t, map[string]string{
		"headrace.http.client.duration":           "s: Duration of requests from their first attempt on, with resends. " + times,
		"headrace.http.client.first_byte":         "s: Time from the first attempt to the header of the answer. " + times,
		"headrace.http.client.request.body.size":  "By: Size of request bodies. " + sizes,
		"headrace.http.client.response.body.size": "By: Size of response bodies, decompressed. " + sizes,
		"headrace.http.client.wait":               "s: Time that requests waited before they were sent. [0 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 300 900]",
		"headrace.http.client.attempts":           "{attempt}: Attempts that requests took on the wire. [0 1 2 3 5 10 20]",
		"headrace.http.client.cached":             "{request}: Requests that were answered by a cache.",
		"headrace.breaker.changes":                "{change}: Times that a circuit breaker changed its state.",
		"headrace.download.duration":              "s: Duration of downloads. [0.1 0.25 0.5 1 2.5 5 10 30 60 300 900 3600]",
		"headrace.download.size":                  "By: Size of what downloads fetched. [0 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07 6.7108864e+07 2.68435456e+08 1.073741824e+09 4.294967296e+09 1.7179869184e+10]",
		"headrace.limiter.hits":                   "{hit}: Calls that the provider refused for rate.",
		"headrace.limiter.cuts":                   "{cut}: Times that a limiter lowered what it allows.",
		"headrace.limiter.wait":                   "s: Time that calls waited to be admitted. [0 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 300 900]",
		"headrace.limiter.call.duration":          "s: Time from the admission of calls to their end. " + times,
		"headrace.limiter.limit":                  "{call}: Calls that may be in flight.",
		"headrace.limiter.in_flight":              "{call}: Calls that are in flight.",
		"headrace.limiter.waiting":                "{call}: Calls that wait to be admitted.",
		"headrace.limiter.pace":                   "{unit}/s: Rate that the limiter has learned.",
		"headrace.flow.duration":                  "s: Duration of runs of flows. " + runs,
		"headrace.node.duration":                  "s: Duration of runs of nodes. " + runs,
		"headrace.node.item.duration":             "s: Duration of items from when a worker took them, with waits and all attempts. [0.001 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 300 900]",
		"headrace.node.items":                     "{item}: Items that have ended, by outcome.",
		"headrace.node.retries":                   "{retry}: Attempts that failed and were followed by another.",
		"headrace.executor.tasks":                 "{task}: Tasks that have not ended, by state.",
		"headrace.executor.slots":                 "{call}: Slots of the concurrency that are in use.",
		"headrace.executor.concurrency":           "{call}: Calls that may be made at the same time.",
		"headrace.executor.window.left":           "{unit}: What is left of each window of the limits.",
		"headrace.executor.ended":                 "{task}: Tasks that have ended, by state.",
		"headrace.executor.retries":               "{retry}: Attempts that failed and were followed by another.",
		"headrace.executor.task.duration":         "s: Duration of tasks, with their wait for room. " + tasks,
		"headrace.executor.task.queued":           "s: Time of tasks in the queue. [0 " + tasks[1:],
		"headrace.executor.task.waited":           "s: Time that tasks waited for limits and between attempts. [0 " + tasks[1:],
		"headrace.executor.task.called":           "s: Duration of the calls of tasks, all attempts. " + tasks,
		"gen_ai.client.operation.duration":        "s: GenAI operation duration. [0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92]",
		"gen_ai.client.token.usage":               "{token}: Number of input and output tokens used. [1 4 16 64 256 1024 4096 16384 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07 6.7108864e+07]",
	}, r.made)
	assert.Equal(t, "github.com/headrace/headrace/telemetry https://opentelemetry.io/schemas/1.43.0", r.scope)
}

func TestNewJoinsItsProblems(t *testing.T) {
	r := &recorder{made: map[string]string{}, refuse: map[string]bool{"headrace.http.client.duration": true, "headrace.limiter.cuts": true}}
	_, err := telemetry.New(telemetry.Config{MeterProvider: r, MaxNames: -1})
	require.EqualError(t, err, "telemetry: MaxNames: -1; want at least 1, or 0 for 100\n"+
		"telemetry: headrace.http.client.duration: no such instrument\n"+
		"telemetry: headrace.limiter.cuts: no such instrument")
	var field *fault.FieldError
	require.True(t, errors.As(err, &field))
	assert.Equal(t, "MaxNames", field.Field)

	_, err = telemetry.New(telemetry.Config{MeterProvider: (*recorder)(nil), MaxNames: -1})
	require.EqualError(t, err, "telemetry: MaxNames: -1; want at least 1, or 0 for 100\n"+
		"telemetry: MeterProvider: a nil *telemetry_test.recorder; leave it out for the global provider")

	_, err = telemetry.New(telemetry.Config{Spans: telemetry.Spans{Off: true, Items: true}})
	require.EqualError(t, err, "telemetry: Spans: Off, and more: choose")
	_, err = telemetry.New(telemetry.Config{Spans: telemetry.Spans{Keys: true}})
	require.EqualError(t, err, "telemetry: Spans.Keys: without Items there is no span to have them")
	_, err = telemetry.New(telemetry.Config{TracerProvider: (*tracers)(nil)})
	require.EqualError(t, err, "telemetry: TracerProvider: a nil *telemetry_test.tracers; leave it out for the global provider")
}

func TestNewTakesTheGlobalProvider(t *testing.T) {
	o, err := telemetry.New(telemetry.Config{})
	require.NoError(t, err)
	o.Observe(request(nil)) // to no receiver
}

func TestObserveLeavesTheRest(t *testing.T) {
	r, o := record(t, telemetry.Config{})
	for _, kind := range []event.Kind{event.LimiterRecovery, event.LimiterRecovery, event.NodeStarted, event.FlowStep, event.FlowProgress, "of a later version"} {
		o.Observe(event.New(time.Now(), kind, "x"))
	}
	o.Observe(event.New(time.Now(), event.NetRequest, "x")) // of an emitter that leaves Request out
	assert.Empty(t, r.taken())
}

func TestObserveCountsHitsAndCuts(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	for _, name := range []string{"openai", "other", "openai", "another"} {
		e := event.New(time.Now(), event.LimiterHit, name)
		e.Key = "tokens"
		o.Observe(e)
	}
	o.Observe(event.New(time.Now(), event.LimiterHit, "openai")) // of another emitter, which leaves Key out
	o.Observe(event.New(time.Now(), event.LimiterCut, "openai"))
	assert.Equal(t, []string{
		"headrace.limiter.cuts=1 headrace.limiter.name=openai",
		"headrace.limiter.hits=1 headrace.limiter.hit.kind=tokens headrace.limiter.name=_OTHER",
		"headrace.limiter.hits=1 headrace.limiter.hit.kind=tokens headrace.limiter.name=_OTHER",
		"headrace.limiter.hits=1 headrace.limiter.hit.kind=tokens headrace.limiter.name=openai",
		"headrace.limiter.hits=1 headrace.limiter.hit.kind=tokens headrace.limiter.name=openai",
		"headrace.limiter.hits=1 headrace.limiter.name=openai",
	}, r.taken())
}

func TestObserveFromManyGoroutines(t *testing.T) {
	const each = 50
	r, o := record(t, telemetry.Config{MaxNames: 3})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range each {
				o.Observe(request(func(e *event.Event) { e.Request.URL = "https://" + string(rune('a'+i%10)) }))
			}
		})
	}
	wg.Wait()
	kept := map[string]int{}
	for _, line := range r.taken() {
		if address, ok := attributeOf(line, "server.address"); ok {
			kept[address]++
		}
	}
	assert.Len(t, kept, 4, "three hosts and the rest")
	assert.Equal(t, 4*each*6/10*7, kept["_OTHER"], "six instruments for each request")
}

// A request with attributes that were seen before makes none, and nothing else either.
func TestObserveAllocatesNothing(t *testing.T) {
	o, err := telemetry.New(telemetry.Config{MeterProvider: noop.NewMeterProvider()})
	require.NoError(t, err)
	for _, e := range []event.Event{
		request(nil),
		request(func(e *event.Event) { e.Request.Status = 429 }),
		request(func(e *event.Event) { e.Attempt, e.Request.Cached = 0, true }),
		event.New(time.Now(), event.LimiterHit, "openai"),
		event.New(time.Now(), event.ItemDone, "n"),
		event.New(time.Now(), event.ItemResumed, "n"),
		event.New(time.Now(), event.NodeFinished, "n"),
		event.New(time.Now(), event.FlowFinished, "f"),
	} {
		o.Observe(e)
		assert.Zero(t, testing.AllocsPerRun(100, func() { o.Observe(e) }), e.Kind)
	}
	call := event.Call{Limiter: "openai", Outcome: "ok"}
	o.ObserveCall(call)
	assert.Zero(t, testing.AllocsPerRun(100, func() { o.ObserveCall(call) }))
}

// A host that there is no room for costs nothing more than one that there is.
func TestHostsBeyondTheMostAllocateNothing(t *testing.T) {
	o, err := telemetry.New(telemetry.Config{MeterProvider: noop.NewMeterProvider(), MaxNames: 1})
	require.NoError(t, err)
	o.Observe(request(nil))
	beyond := request(func(e *event.Event) { e.Request.URL, e.Source = "https://other.example.com", "other" })
	download := event.New(time.Now(), event.DownloadFetch, "other.example.com")
	download.Download = &event.Download{Bytes: 1}
	for _, e := range []event.Event{beyond, download, event.New(time.Now(), event.LimiterHit, "other")} {
		o.Observe(e)
		assert.Zero(t, testing.AllocsPerRun(100, func() { o.Observe(e) }), e.Kind)
	}
}
