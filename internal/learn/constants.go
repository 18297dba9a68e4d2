package learn

// The constants of the law: one vocabulary of shares, counts and times. Each file
// gives what it uses one for a name of its own, and derives what it can: 1 + fifth,
// 2 * three. The comment on a constant says where it comes from:
//
//   - by definition: a unit, or what a clock and a float64 can tell apart
//   - a size: of memory that is kept
//   - else the sets of internal/simulate whose scenarios exercise what is made of it. Most
//     were tuned there before they were shared; none has been varied by itself since.

// Shares and factors.
const (
	permille   = 0.003 // twelve: a cap that four share
	hundredth  = 0.01  // beyond: 2 and 5 % random rejections, a Retry-After that is five times too long
	fiftieth   = 0.02  // twelve, random
	slight     = 0.03  // twelve: what a steady limit loses, and how soon it is probed
	twentieth  = 0.05  // twelve, beyond
	tenth      = 0.1   // beyond, families 07
	fifth      = 0.2   // twelve, beyond, families 07
	quarter    = 0.25  // cold start, beyond
	half       = 0.5   // families 05 and 08
	mostOf     = 0.7   // random, families 03 and 08
	nearlyAll  = 0.9   // families 05 and 08
	halfAgain  = 1.5   // beyond
	twiceAHalf = 2.5   // beyond: round trips until silence means that a call was admitted
	twoFifths  = 2 * fifth
)

// Counts, of calls if nothing else is said.
const (
	two          = 2   // twelve
	three        = 3   // twelve, random: the least that is no chance
	four         = 4   // beyond, harsher
	five         = 5   // twelve
	ten          = 10  // twelve
	dozen        = 12  // beyond: random rejections, and headers that leave out a cap
	twenty       = 20  // families 08
	thirty       = 30  // families 05 and 07
	forty        = 40  // beyond: a window of a second
	hundred      = 100 // random
	twoHundred   = 200 // beyond: a limit that moves every 16 s
	fiveHundred  = 500 // beyond: random rejections
	eightHundred = 800 // beyond: a window of a second
	sixteen      = 16  // a size
	thirtyTwo    = 2 * sixteen
	sixtyFour    = 2 * thirtyTwo
)

// Times, in seconds.
const (
	instant        = 1e-3 // by definition: timers are no finer
	moment         = 0.01 // twelve: a minute of the clock
	blink          = 0.05 // families 05 and 13
	twoSeconds     = 2    // families 09, beyond: a closure that is no mere refill
	fiveSeconds    = 5    // random: what was admitted of late
	tenSeconds     = 10   // families 05
	fifteenSeconds = 15   // families 07 and 10
	twentySeconds  = 20   // families 03, twelve
	halfMinute     = minute / 2
	minute         = 60        // by definition
	day            = 24 * hour // by definition
	hour           = minute * minute
	quarterHour    = 15 * minute // families 08; OpenAI's guide to rate limits, 2026-07
)
