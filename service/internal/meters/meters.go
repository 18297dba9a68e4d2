// Package meters has the metrics of the service.
package meters

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/service/internal/decide"
)

// Meters are the metrics of one server.
type Meters struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	degraded  *prometheus.CounterVec
	tokens    *prometheus.CounterVec
	took      *prometheus.HistogramVec
	remaining *prometheus.HistogramVec
	reloads   *prometheus.CounterVec
}

// otherScope is the label of scopes that are not configured, of which callers could name
// any number.
const otherScope = "other"

// New returns metrics without a value.
func New() *Meters {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "headrace_service", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "headrace_service", Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &Meters{
		registry:  prometheus.NewRegistry(),
		requests:  counter("checks_total", "Checks, by scope and outcome: allowed, refused, unavailable, invalid or cancelled.", "scope", "outcome"),
		degraded:  counter("degraded_total", "Checks that were answered without the store, or refused because of it, by reason.", "reason"),
		tokens:    counter("tokens_total", "Tokens that were taken.", "scope"),
		took:      histogram("check_duration_seconds", "Time of a check, including waiting.", []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 60}, "outcome"),
		remaining: histogram("remaining_ratio", "Share of the limit that is left after a check.", []float64{0, .05, .1, .25, .5, .75, .9, 1}, "scope"),
		reloads:   counter("reloads_total", "Times that the configuration was read, by result: applied, unchanged or failed.", "result"),
	}
	m.registry.MustRegister(m.requests, m.degraded, m.tokens, m.took, m.remaining, m.reloads)
	return m
}

// Watch adds metrics that are read from a decider.
func (m *Meters) Watch(d *decide.Decider, broken func() bool) {
	gauge := func(name, help string, f func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "headrace_service", Name: name, Help: help}, f))
	}
	health := func() decide.Health { return d.Health(context.Background()) }
	gauge("breaker_state", "State of the breaker in front of the store: 0 closed, 1 half-open, 2 open.", func() float64 {
		switch d.Stats().Breaker.State {
		case breaker.Open:
			return 2
		case breaker.HalfOpen:
			return 1
		case breaker.Closed:
		}
		return 0
	})
	gauge("store_reachable", "Whether the store answered when it was last asked.", func() float64 { return truth(health().StoreReachable) })
	gauge("store_latency_seconds", "Time of the last probe of the store.", func() float64 { return health().Latency.Seconds() })
	gauge("clock_skew_seconds", "How long checks are still refused because the clock of the store has jumped.", func() float64 { return health().Skewed.Seconds() })
	gauge("config_broken", "Whether the configuration could not be read, and an older one is served.", func() float64 { return truth(broken()) })
	count := func(name, help string, f func() float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "headrace_service", Name: name, Help: help}, f))
	}
	count("store_requests_total", "Requests to the store.", func() float64 { return float64(d.Stats().Asked) })
	count("store_failures_total", "Requests to the store that failed.", func() float64 { return float64(d.Stats().Failed) })
	count("fallbacks_total", "Checks that were answered without the store.", func() float64 { return float64(d.Stats().Degraded) })
	count("clock_jumps_total", "Jumps of the clock of the store.", func() float64 { return float64(health().Jumps) })
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// See counts a check.
func (m *Meters) See(o decide.Observation) {
	scope := otherScope
	if o.Known {
		scope = o.Scope
	}
	m.requests.WithLabelValues(scope, o.Outcome).Inc()
	if o.Degraded != "" {
		m.degraded.WithLabelValues(string(o.Degraded)).Inc()
	}
	if o.Tokens > 0 {
		m.tokens.WithLabelValues(scope).Add(float64(o.Tokens))
	}
	m.took.WithLabelValues(o.Outcome).Observe(o.Took.Seconds())
	if o.Outcome == "allowed" || o.Outcome == "refused" {
		m.remaining.WithLabelValues(scope).Observe(o.Share)
	}
}

// Reloaded counts a reading of the configuration.
func (m *Meters) Reloaded(result string) { m.reloads.WithLabelValues(result).Inc() }

// Handler answers with all metrics in the format of Prometheus.
func (m *Meters) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
