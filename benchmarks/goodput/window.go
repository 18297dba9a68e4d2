package goodput

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/providertest"
)

// The simulator counts in fixed minutes only. A window of another length is a
// bucket that drips next to nothing, but is filled within a microsecond
// whenever the window turns.
const (
	trickle = 60e-6 // per minute
	gush    = 1e15  // times that
	filling = time.Microsecond
)

// turning gives w a window. It turns at the opening.
func turning(w *client.Setting, f providertest.FixedWindow) {
	w.Provider.Requests = provider.Bucket{PerMinute: trickle, Burst: float64(f.Max)}
	for at := opening % f.Per; at < client.WarmUp+client.Measured; at += f.Per {
		w.Changes = append(w.Changes,
			provider.Change{At: at, Factor: gush}, provider.Change{At: at + filling, Factor: 1 / gush})
	}
}

// untilTurn is how long the window lasts after now.
func untilTurn(f providertest.FixedWindow, now time.Duration) time.Duration {
	return f.Per - (now-opening%f.Per)%f.Per
}
