package registry

// Kept returns how many guards of templates r holds, and how many it remembers.
func (r *Registry) Kept() (guards, memories int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.sweep.ring), len(r.sweep.queue)
}

const MostMemories = mostMemories

const MostUnused = mostUnused
