package telemetry

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// other stands for all remaining values, as in the conventions.
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

// memory keeps what was made for the first keys it meets: keys come from outside.
type memory[K comparable, V any] struct {
	most  int
	make  func(K) V
	mu    sync.RWMutex // guards known
	known map[K]V
}

func newMemory[K comparable, V any](most int, f func(K) V) *memory[K, V] {
	return &memory[K, V]{most: most, make: f, known: map[K]V{}}
}

// get makes the value of k anew each time if there is no room for it.
func (m *memory[K, V]) get(k K) V {
	if v, ok := m.kept(k); ok {
		return v
	}
	return m.make(k)
}

// kept is get without the values that there is no room for.
func (m *memory[K, V]) kept(k K) (v V, ok bool) {
	m.mu.RLock()
	v, ok = m.known[k]
	full := len(m.known) >= m.most
	m.mu.RUnlock()
	if ok || full {
		return v, ok
	}
	made := m.make(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok = m.known[k]; ok {
		return v, true // another goroutine was quicker
	}
	if len(m.known) >= m.most {
		return v, false
	}
	m.known[k] = made
	return made, true
}
