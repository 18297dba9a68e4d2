package learn

// What several files use for the same purpose. All other constants are where what they tune is.
const (
	remembered   = 15 * minute // seconds for which what held before is tried again, and what was disproved is not
	againFirst   = 30          // seconds until what held before, or what was disproved, is first tried again; twice as long each time
	recent       = 30          // calls that a recent share is taken of; of fewer, none is
	memory       = 300         // calls for which an event that is rare is remembered
	rare         = 0.05        // of the calls, of what comes in, or of a level: less is an exception, or no difference
	enough       = 3           // observations, marks or windows that agree: what they show is believed; what fewer show is not
	convinced    = 4           // observations against a belief, less those for it: it is given up
	several      = convinced   // calls: fewer convince of nothing, and are worth no test
	backOff      = 0.9         // of the calls in flight, or of a pace: what a cut without a measurement, or with a poor one, leaves
	smoothing    = 0.2         // weight of the newest observation in a smoothed value that has no weight of its own
	shortest     = 0.5         // seconds: over less time nothing is measured or compared
	tiny         = 1e-3        // seconds; by definition: no clock is finer
	interruption = 2           // seconds without demand, or without an admitted call, that are no mere gap
)

const outlier = several // times what is usual: an observation counts as no more

// Units.
const (
	minute = 60 // seconds
	hour   = 60 * minute
	day    = 24 * hour
)
