package throttle

import (
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

const periodHelp = "write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m"

// periodUnit finds a unit of time by its name: so many of what
// time.ParseDuration calls unit.
func periodUnit(name string) (unit string, times int64, ok bool) {
	switch strings.ToLower(name) {
	case "ns":
		return "ns", 1, true
	case "us", "µs", "μs": // the micro sign and the Greek letter
		return "us", 1, true
	case "ms":
		return "ms", 1, true
	case "s", "sec", "secs", "second", "seconds":
		return "s", 1, true
	case "m", "min", "mins", "minute", "minutes":
		return "m", 1, true
	case "h", "hr", "hrs", "hour", "hours":
		return "h", 1, true
	case "d", "day", "days":
		return "h", 24, true
	case "w", "week", "weeks":
		return "h", 24 * 7, true
	}
	return "", 0, false
}

// period reads a unit of time, or numbers of units: min, 15min, 2h30m.
func (p *parser) period() time.Duration {
	first := p.tok
	if first.kind != numberToken {
		return p.periodUnits(token{text: "1", at: first.at})
	}
	var sum time.Duration
	for p.err == nil && p.tok.kind == numberToken {
		number := p.tok
		p.next()
		d := p.periodUnits(number)
		if (sum+d > sum) != (d > 0) {
			p.fail(first, "the period is too long: a century is the most")
		}
		sum += d
	}
	return sum
}

// periodUnits reads the unit of time that number, which was read, counts.
func (p *parser) periodUnits(number token) time.Duration {
	t := p.tok
	unit, times, ok := periodUnit(t.text)
	if !ok {
		p.fail(t, "%s", periodProblem(t))
		return 0
	}
	p.next()
	one, err := time.ParseDuration(number.text + unit)
	d := int64(one) * times
	if err != nil || d/times != int64(one) {
		p.fail(number, "so many %s are not a duration, or longer than a century", t.text)
		return 0
	}
	return time.Duration(d)
}

func periodProblem(t token) string {
	switch strings.ToLower(t.text) {
	case "mo", "mon", "month", "months":
		return "a month has no fixed length: write 30days, or a fixed window of 30days with the day on which one begins"
	case "y", "yr", "year", "years":
		return "a year has no fixed length: write 365days, or a fixed window of 365days with the day on which one begins"
	case "":
		return "a unit of time is missing: " + periodHelp
	}
	return "it is not a period: " + periodHelp
}

// formatPeriod is the inverse of period, in the largest unit that divides d.
func formatPeriod(d time.Duration) string {
	for _, unit := range [...]struct {
		length    time.Duration
		one, many string
	}{
		{week, "week", "weeks"}, {day, "day", "days"}, {time.Hour, "h", "h"}, {time.Minute, "min", "min"}, {time.Second, "s", "s"},
	} {
		switch {
		case d == unit.length:
			return unit.one
		case d > 0 && d%unit.length == 0:
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.many
		}
	}
	return d.String()
}
