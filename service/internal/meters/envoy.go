package meters

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headrace/headrace/service/internal/envoy"
)

// WatchEnvoy adds metrics that are read from Envoy's rate limit service.
func (m *Meters) WatchEnvoy(s *envoy.Service) {
	count := func(name, help string, of func(envoy.Stats) int64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Namespace: "headrace_service", Subsystem: "envoy", Name: name, Help: help},
			func() float64 { return float64(of(s.Stats())) }))
	}
	count("requests_total", "Requests of Envoy.", func(s envoy.Stats) int64 { return s.Requests })
	count("over_limit_total", "Requests of Envoy that were over a limit.", func(s envoy.Stats) int64 { return s.OverLimit })
	count("shadowed_total", "Requests of Envoy that shadow_mode let pass.", func(s envoy.Stats) int64 { return s.Shadowed })
	count("unknown_domain_total", "Requests of Envoy for a domain without limits.", func(s envoy.Stats) int64 { return s.UnknownDomain })
	count("invalid_total", "Requests of Envoy that could not be read.", func(s envoy.Stats) int64 { return s.Invalid })
	count("degraded_total", "Requests of Envoy that were answered without the store.", func(s envoy.Stats) int64 { return s.Degraded })
	count("failed_total", "Requests of Envoy without an answer, because the store failed.", func(s envoy.Stats) int64 { return s.Failed })
	count("lost_total", "Hits and refunds that the store did not take after the answer was decided.", func(s envoy.Stats) int64 { return s.Lost })
}
