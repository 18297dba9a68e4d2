package learn

// What several files mean alike.
const (
	remembered = quarterHour // seconds for which what held before is tried again, and what was disproved is not
	againFirst = halfMinute  // seconds to the first such try, twice as long each time
	recent     = thirty      // calls that a share of late is taken of, and below which there is no share
	backOff    = nearlyAll   // of the calls in flight: a cut that is no measurement
	steadily   = twoFifths   // of a cycle in flight, in which the bound returns to its level
	probing    = twentieth   // of the level, by which the bound in flight then grows in half a cycle
	jitter     = quarter     // of a wait that no answer asks for
	settles    = halfAgain   // refusal round trips in which those that are under way are received
)
