package telemetry

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// other stands for what is not told apart, as the conventions have it.
const other = "_OTHER"

// labels is a set of attributes in the forms that instruments take, so that a
// measurement makes neither.
type labels struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func newLabels(attrs ...attribute.KeyValue) *labels {
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	return &labels{record: []metric.RecordOption{set}, add: []metric.AddOption{set}}
}

// memory keeps what was made for the first keys it meets, and makes the rest
// anew each time: keys come from outside.
type memory[K comparable, V any] struct {
	most  int
	make  func(K) V
	mu    sync.RWMutex // guards known
	known map[K]V
}

func newMemory[K comparable, V any](most int, f func(K) V) *memory[K, V] {
	return &memory[K, V]{most: most, make: f, known: map[K]V{}}
}

// get says too whether the value of k is a kept one.
func (m *memory[K, V]) get(k K) (v V, kept bool) {
	m.mu.RLock()
	v, kept = m.known[k]
	full := len(m.known) >= m.most
	m.mu.RUnlock()
	if kept {
		return v, true
	}
	made := m.make(k)
	if full {
		return made, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, kept = m.known[k]; kept {
		return v, true // somebody was quicker
	}
	if len(m.known) >= m.most {
		return made, false
	}
	m.known[k] = made
	return made, true
}
