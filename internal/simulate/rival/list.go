package rival

import "github.com/headrace/headrace/internal/simulate/client"

// mostWorkers bounds what a rival's window can grow to.
const mostWorkers = 200

// All returns the rivals in the order of the tables.
func All() []client.Contender {
	return []client.Contender{
		pooled("fixed pool 32 + SDK retry", func(s client.Seat) window { return fixed(s.Pool) }),
		pooled("AIMD x0.5 / x1.2", func(client.Seat) window { return &classic{size: 5} }),
		pooled("Netflix AIMD", func(client.Seat) window { return &netflixAIMD{size: 20} }),
		pooled("Netflix Vegas", func(s client.Seat) window { return newVegas(s.Seed) }),
		pooled("Netflix Gradient2", func(client.Seat) window { return &gradient2{size: 20} }),
		{Name: "AWS adaptive (CUBIC)", New: newCubic},
		{Name: "inspect_ai", New: newInspectAI},
		{Name: "promptfoo", New: newPromptfoo},
		{Name: "Nall", New: newNall},
	}
}

func pooled(name string, of func(client.Seat) window) client.Contender {
	return client.Contender{Name: name, New: func(s client.Seat) (client.Policy, error) {
		return newPool(s.Seed, of(s)), nil
	}}
}
