package learn

// The law's constants. A file says what it uses one for, under a name of its own,
// and derives what it can: 1+fifth, 2*thirty. docs/law.md tells where each comes from.

// Shares, without a unit.
const (
	permille   = 0.003
	hundredth  = 0.01
	fiftieth   = 0.02
	slight     = 0.03
	twentieth  = 0.05
	tenth      = 0.1
	fifth      = 0.2
	quarter    = 0.25
	half       = 0.5
	twoFifths  = 2 * fifth
	mostOf     = 0.7
	nearlyAll  = 0.9
	halfAgain  = 1.5
	twiceAHalf = 2.5 // and a half
)

// Counts, mostly of calls.
const (
	two          = 2
	three        = 3
	four         = 4
	five         = 5
	ten          = 10
	dozen        = 12
	fifteen      = 15
	twenty       = 20
	thirty       = 30
	forty        = 40
	hundred      = 100
	twoHundred   = 200
	fiveHundred  = 500
	eightHundred = 800
	sixteen      = 16
	thirtyTwo    = 2 * sixteen
	sixtyFour    = 2 * thirtyTwo
)

// Times, in seconds.
const (
	instant     = 1e-3
	moment      = 0.01
	blink       = 0.05
	minute      = 60
	quarterHour = fifteen * minute
	hour        = 60 * minute
	day         = 24 * hour
)
