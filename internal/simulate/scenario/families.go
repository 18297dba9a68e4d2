package scenario

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// Most members are a token bucket of 600 a minute and burst 10, with Retry-After
// in whole seconds, and what disturbs it.

func quotas() []member {
	const day, hours = 24 * hour, 3 * hour
	return []member{
		does("2/s and 2,000/h of the clock", also(perMinute(120, 10), clock(2000, hour)), lasting(hours)),
		does("2/s and 2,000/h, silent", silent(also(perMinute(120, 10), clock(2000, hour))), lasting(hours)),
		does("5/s and 5,000/h from the first call, shown", also(perMinute(300, 10), shown(counts(5000, hour, provider.FirstCall))), lasting(hours-10*minute)),
		does("2/s and 1,000/h refilled", also(perMinute(120, 10), counts(1000, hour, provider.Refilled)), lasting(hours)),
		does("10/s and 1,000 in 15 min, exactly", also(perMinute(600, 10), counts(1000, 15*minute, provider.Exactly)), lasting(hours/2-2*minute)),
		does("1/s and 10,000 a day", also(perMinute(60, 5), clock(10_000, day)), lasting(day)),
	}
}

func tiers() []member {
	ten, three := perMinute(600, 5), perMinute(180, 3)
	return []member{
		does("10/s b5 and 300/min of the clock, shown", also(ten, shown(clock(300, minute)))),
		does("10/s b5 and 300/min refilled, silent", silent(also(ten, counts(300, minute, provider.Refilled)))),
		does("10/s b5 and 300/min exactly", also(ten, counts(300, minute, provider.Exactly))),
		does("3/s, 60/min and 1,000/h of the clock", also(three, clock(60, minute), clock(1000, hour)), lasting(2*hour)),
		does("3/s, 60/min and 1,000/h refilled", also(three, counts(60, minute, provider.Refilled), counts(1000, hour, provider.Refilled)), lasting(2*hour)),
		does("5 in a second and 100 in a minute, silent", provider.Config{More: []provider.Quota{clock(5, time.Second), clock(100, minute)}}),
	}
}

func episodes() []member {
	limit := perMinute(600, 10)
	return []member{
		does("30 % 429", striking(limit, episode(0.3, plain(provider.TooMany)))),
		does("all 429", striking(limit, episode(1, plain(provider.TooMany)))),
		does("all 429 with Retry-After 1", striking(limit, episode(1, after(provider.TooMany, time.Second)))),
		does("50 % 529", striking(limit, episode(0.5, plain(provider.Full)))),
		does("all 529", striking(limit, episode(1, plain(provider.Full)))),
		does("50 % 503 with Retry-After 2", striking(limit, episode(0.5, after(provider.Unavailable, 2*time.Second)))),
		does("80 % plain 503", striking(limit, episode(0.8, plain(provider.Unavailable)))),
		does("60 % 429 beside a cap of 20", striking(capped(provider.Config{}, 20), episode(0.6, plain(provider.TooMany)))),
	}
}

func shedding() []member {
	queue := func(m provider.Manner) provider.Config {
		return provider.Config{Knee: 16, Overload: 64, Shed: m}
	}
	return []member{
		does("503 with Retry-After", queue(after(provider.Unavailable, time.Second))),
		does("529", queue(plain(provider.Full))),
		does("429", queue(plain(provider.TooMany))),
		does("plain 503", queue(plain(provider.Unavailable))),
		does("503 with Retry-After, four processes", queue(after(provider.Unavailable, time.Second)), shared(4)),
	}
}

func tokens() []member {
	both := spending(perMinute(600, 10), 600_000, 60_000)
	alone := spending(provider.Config{RetryAfter: provider.WholeSeconds}, 400_000, 60_000)
	return []member{
		does("a heavy tail", both, counted(1.2, 1, 1)),
		does("a very heavy tail", alone, counted(1.8, 1, 1)),
		does("guessed x3", both, counted(0, 3, 3)),
		does("guessed x0.3..3", alone, counted(0, 0.3, 3)),
		does("a heavy tail guessed x0.3..3", alone, counted(1.2, 0.3, 3)),
		does("a heavy tail guessed x3, silent", silent(alone), counted(1.2, 3, 3)),
		does("30,000/min, guesses beyond it", spending(provider.Config{RetryAfter: provider.WholeSeconds}, 30_000, 30_000), counted(1.2, 1, 8)),
	}
}

func lies() []member {
	limit := perMinute(600, 10)
	const ages = 100 * 365 * 24 * hour
	return []member{
		does("Retry-After x5", saying(limit, provider.WholeSeconds, 0, 5)),
		does("Retry-After always 60 s", saying(limit, provider.Exact, minute, 0)),
		does("Retry-After always a century", saying(limit, provider.Exact, ages, 0)),
		does("headers of a quota of ten times", also(limit, hollow(6000, minute))),
		does("headers of a tenth of the quota", also(limit, hollow(60, minute))),
		does("header limit 1 at 1/s", telling(perMinute(60, 1), provider.Tale{Limit: 1. / 60})),
		does("header remaining x10", telling(limit, provider.Tale{Remaining: 10})),
		does("header limit x0.1, resets in whole seconds", telling(limit, provider.Tale{Limit: 0.1, Whole: true})),
	}
}

func outages() []member {
	limit := perMinute(600, 10)
	return []member{
		does("100/min x10", perMinute(100, 5), changing(stepping(5*minute, 10))),
		does("600/min /10, x10", limit, changing(stepping(5*minute, 0.1), stepping(10*minute, 10))),
		does("2 min of 429", striking(limit, outage(2*minute, plain(provider.TooMany)))),
		does("2 min of 429 with Retry-After 30", striking(limit, outage(2*minute, after(provider.TooMany, 30*time.Second)))),
		does("2 min of plain 503", striking(limit, outage(2*minute, plain(provider.Unavailable)))),
		does("20 min of 429", striking(limit, outage(20*minute, plain(provider.TooMany))), lasting(40*minute)),
		does("20 min of 529", striking(limit, outage(20*minute, plain(provider.Full))), lasting(40*minute)),
	}
}

func caps() []member {
	none, limit := provider.Config{}, perMinute(600, 10)
	return []member{
		does("20, 60, 15", capped(none, 20), changing(capping(5*minute, 60), capping(12*minute, 15))),
		does("8, 40", capped(none, 8), changing(capping(5*minute, 40))),
		does("another one of 20 and 40 every 2 min", capped(none, 20), changing(
			capping(2*minute, 40), capping(4*minute, 20), capping(6*minute, 40), capping(8*minute, 20),
			capping(10*minute, 40), capping(12*minute, 20), capping(14*minute, 40), capping(16*minute, 20))),
		does("10 beside 10/s", capped(limit, 10)),
		does("10 beside 10/s, silent, calls of 3 s", silent(capped(limit, 10)), taking(3*time.Second, 32)),
		does("20, 40 beside 25/s", capped(perMinute(1500, 25), 20), changing(capping(8*minute, 40))),
	}
}

func many() []member {
	limit := perMinute(600, 10)
	return []member{
		does("16 on 10/s", limit, shared(16)),
		does("16 on 10/s b60, silent", silent(perMinute(600, 60)), shared(16)),
		does("4 on 600 a minute of the clock", provider.Config{Minute: 600, RetryAfter: provider.WholeSeconds}, shared(4)),
		does("16 on a cap of 64", capped(provider.Config{}, 64), shared(16)),
		does("4 on tokens", spending(limit, 600_000, 60_000), counted(0, 1, 1), shared(4)),
	}
}

func extremes() []member {
	const long = 100 * time.Second
	return []member{
		does("3/min b1", perMinute(3, 1), lasting(hour)),
		does("3/min b1, silent", silent(perMinute(3, 1)), lasting(hour)),
		does("1 in 20 s of the clock", also(provider.Config{RetryAfter: provider.WholeSeconds}, clock(1, 20*time.Second)), lasting(hour)),
		does("2,000/s b200", perMinute(120_000, 200), near(50*time.Millisecond, 128), lasting(minute)),
		does("calls of 100 s, a cap of 40", capped(provider.Config{}, 40), taking(long, 128), lasting(hour)),
		does("calls of 100 s, 1/s", perMinute(60, 5), taking(long, 128), lasting(hour)),
		does("calls of 100 s, a cap of 60 beside 30/min", capped(perMinute(30, 5), 60), taking(long, 128), lasting(hour)),
	}
}

// disordered calls have their whole latency on the way. A cap refuses those that
// come, not those that leave, so the level at which it seems to refuse varies as that of a rate does.
func disordered() []member {
	const ms = time.Millisecond
	fast := perMinute(1200, 10)
	places := func(n int) provider.Config { return capped(provider.Config{}, n) }
	return []member{
		does("20/s, silent, 8 callers", silent(fast), scattered(8), lasting(3*minute)),
		does("20/s, silent, 12 callers", silent(fast), scattered(12), lasting(3*minute)),
		does("20/s, silent, 16 callers", silent(fast), scattered(16), lasting(3*minute)),
		does("20/s, silent, 32 callers", silent(fast), scattered(32), lasting(3*minute)),
		does("20/s, 32 callers", fast, scattered(32), lasting(3*minute)),
		does("20/s, silent, calls of 2 s", silent(fast), taking(2*time.Second, 64), scattering(50*ms, time.Second)),
		does("a cap of 8", places(8), taking(300*ms, 32), scattering(20*ms, 200*ms)),
		does("a cap of 20", places(20), scattering(20*ms, 400*ms)),
		does("a cap of 40, 64 callers", places(40), taking(500*ms, 64), scattering(20*ms, 200*ms), calling(64)),
		does("a cap of 20 shared by four", places(20), scattering(20*ms, 200*ms), shared(4)),
	}
}

func strays() []member {
	limit := perMinute(600, 10)
	return []member{
		does("0.2 % 529", striking(limit, stray(0.002, plain(provider.Full)))),
		does("0.5 % 529", striking(limit, stray(0.005, plain(provider.Full)))),
		does("1 % 529, 20/s", striking(perMinute(1200, 20), stray(0.01, plain(provider.Full)))),
		does("1 % 503 with Retry-After 1", striking(limit, stray(0.01, after(provider.Unavailable, time.Second)))),
		does("1 % plain 503, silent", striking(silent(limit), stray(0.01, plain(provider.Unavailable)))),
		does("Retry-After in half of the 429s", saying(limit, provider.Sometimes, 0, 0)),
	}
}
