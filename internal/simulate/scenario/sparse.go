package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/world"
)

const (
	sparseLasts = 20 * minute // and the warm-up
	batchLasts  = 10 * minute
)

// Sparse returns the i-th scenario of sparse demand, always the same for the same i: the i-th harsher provider, to which one item comes
// every 10 to 60 s, and after twenty minutes more than it takes. The ten minutes after that are measured. What few calls have shown of a
// provider must not hold many back for long. There is one process.
func Sparse(i int) Scenario {
	d := dice{world.NewChance(uint64(i), 0x4a48), i} //nolint:gosec // any bits will do
	s := Harsher(i)
	s.About = strings.TrimSuffix(s.About, fmt.Sprintf(", %d processes", s.Processes))
	s.Processes = 1
	s.Bursts = client.Bursts{Items: 1, Every: d.seconds(10, 60).Round(time.Second)}
	s.Unmeasured, s.Lasts = sparseLasts, batchLasts
	s.Bursts.Until = client.WarmUp + sparseLasts
	s.Name = fmt.Sprintf("s%d", i)
	s.About = fmt.Sprintf("an item each %.0f s, then all, %s", s.Bursts.Every.Seconds(), s.About)
	return s
}
