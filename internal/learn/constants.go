package learn

// What several files use for the same purpose. All other constants are where what they tune is.
const (
	remembered   = 15 * minute // seconds for which what held before is tried again, and what was disproved is not
	againFirst   = 30          // seconds until what held before, or what was disproved, is first tried again, and twice as long each time; after an overload, at most
	recent       = 30          // calls that a share of late is taken of, and observations over which what was the most fades; also closures of the provider, at most, from one test of its waits to the next
	memory       = 300         // calls for which what is rare is remembered: random rejections, also too many of them, those that the rate does not explain, and a new claim
	rare         = 0.05        // of the calls, or of what comes in: less is an exception, or proves no risen limit; also how far a cap is probed
	enough       = 3           // observations, marks or windows that agree: what they show is believed; fewer, or so many calls, prove nothing
	convinced    = 4           // observations against a belief, less those for it: it is given up
	several      = 4           // calls that matter: fewer are worth no test, and what is left of fewer means nothing; also those that may go at once where calls and tokens take turns, and times that a bucket takes to fill where others take from it
	backOff      = 0.9         // of the calls in flight, or of a pace: a cut that is no measurement, or a poor one; what is left still holds
	smoothing    = 0.2         // weight of one observation in what is smoothed, if it has none of its own
	shortest     = 0.5         // seconds: over less time nothing is measured or compared
	tiny         = 1e-3        // seconds, units, or units per second; by definition: no clock is finer, no rate is lower, and no window is shorter
	interruption = 2           // seconds without demand, or without an admitted call, that are no mere gap; also until calls in flight that held before are first tried again
)

// Units.
const (
	minute = 60 // seconds
	hour   = 60 * minute
	day    = 24 * hour
)
