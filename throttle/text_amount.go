package throttle

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// amount is a number as it was written: 200_000, 200k, 1.5M.
type amount struct {
	at     int
	text   string
	digits string // without _ and suffix
	zeros  int    // that the suffix stands for
}

// amount reads a number with its suffix, which follows without space.
func (p *parser) amount() amount {
	t := p.tok
	if t.kind != numberToken {
		p.fail(t, "a number is expected here, such as 200, 200_000 or 200k")
		return amount{}
	}
	p.next()
	a := amount{at: t.at, text: t.text, digits: strings.ReplaceAll(t.text, "_", "")}
	if !underscoresSeparateDigits(t.text) {
		p.fail(t, "an underscore stands only between two digits")
	}
	if p.tok.at == t.at+len(t.text) {
		switch {
		case p.tok.is("k"):
			a.zeros = 3
		case p.tok.is("m"):
			a.zeros = 6
		}
	}
	if a.zeros > 0 {
		a.text += p.tok.text
		p.next()
	}
	return a
}

func underscoresSeparateDigits(s string) bool {
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || !isDigit(s[i-1]) || !isDigit(s[i+1])) {
			return false
		}
	}
	return true
}

// count is a as a whole number.
func (p *parser) count(a amount) int64 {
	whole, fraction, _ := strings.Cut(a.digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > a.zeros || strings.Trim(whole+fraction, "-0123456789") != "" {
		p.failAt(a.at, a.text, "it is not a whole number in digits")
		return 0
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", a.zeros-len(fraction)), 10, 64)
	if err != nil {
		p.failAt(a.at, a.text, "it is not between 1 and %d", int64(MaxAmount))
	}
	return n
}

// number is a, which may have decimals.
func (p *parser) number(a amount) float64 {
	digits := a.digits
	if a.zeros > 0 {
		digits += "e" + strconv.Itoa(a.zeros)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil && n == 0 { // what is out of range is infinite: left to check
		p.failAt(a.at, a.text, "it is not a number")
	}
	return n
}

// defaultBurst is the burst of a bucket if its text does not name one: what it refills
// in the period as written, so that a call that the rate allows also fits.
func defaultBurst(n float64) int64 {
	return int64(math.Ceil(min(max(n, 1), MaxAmount)))
}

// formatRate writes units per second as an amount per period: the shortest of
// those that are read back as the same float64.
func formatRate(perSecond float64) (number, period string) {
	number, period = formatFloat(perSecond), "s"
	for _, per := range [...]time.Duration{time.Minute, time.Hour, day, week} {
		n := perSecond * per.Seconds()
		if whole := math.Round(n); whole/per.Seconds() == perSecond {
			n = whole
		}
		if s := formatFloat(n); n/per.Seconds() == perSecond && len(s) < len(number) {
			number, period = s, formatPeriod(per)
		}
	}
	return number, period
}

func formatFloat(x float64) string {
	if x != 0 && math.Abs(x) < 1e-6 || math.Abs(x) >= 1e15 {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
