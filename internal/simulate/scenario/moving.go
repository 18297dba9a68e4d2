package scenario

import (
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// oneChange is the words about the change of a random scenario.
var oneChange = regexp.MustCompile(` (then \d+|x[\d.]+)`)

// leastLeft is the lowest limit of a moving one, as a part of the first.
const leastLeft = 1.0 / 3

// Moving returns the i-th scenario of a moving limit, always the same for the same i: the i-th random provider, with a limit that becomes another
// one each 10 s to 5 min, from a third of the first one up to that.
func Moving(i int) Scenario {
	d := dice{world.NewChance(uint64(i), 0x4a49), i} //nolint:gosec // any bits will do
	s := Random(i)
	every := d.seconds(10, 300)
	s.Changes = nil
	left := 1.0
	for at := client.WarmUp + every; at < s.End(); at += every {
		next := d.LogUniform(leastLeft, 1)
		c := provider.Change{At: at, Factor: next / left}
		if s.Provider.Cap > 0 {
			c = provider.Change{At: at, Cap: max(s.Processes, int(math.Round(next*float64(s.Provider.Cap))))}
		}
		s.Changes = append(s.Changes, c)
		left = next
	}
	s.Name = fmt.Sprintf("m%d", i)
	s.About = fmt.Sprintf("another limit each %.0f s, %s", every.Round(time.Second).Seconds(), oneChange.ReplaceAllString(s.About, ""))
	return s
}
