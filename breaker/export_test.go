package breaker

// Probes returns how many probes are under way.
func (b *Breaker) Probes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machine.probes
}

// Successes returns how many probes have succeeded.
func (b *Breaker) Successes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machine.successes
}
