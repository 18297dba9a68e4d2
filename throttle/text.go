package throttle

import (
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
)

const unlimited = "unlimited"

// String writes l as ParseLimits reads it, such as "5/s, 300/min, 8
// concurrent".
func (l Limits) String() string {
	var parts []string
	for _, w := range l.Windows {
		parts = append(parts, w.String())
	}
	if l.Concurrency != 0 {
		parts = append(parts, strconv.Itoa(l.Concurrency)+" concurrent")
	}
	if parts == nil {
		return unlimited
	}
	return strings.Join(parts, ", ")
}

// MarshalText is String for limits that Validate accepts. It fails for the
// others, and for a Fixed window in a time zone without an IANA name.
func (l Limits) MarshalText() ([]byte, error) {
	p := invalid.Problems{Owner: "throttle"}
	p.Add(l.Validate())
	for i, w := range l.Windows {
		w.checkZone("Windows["+strconv.Itoa(i)+"]", &p)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText is ParseLimits. An error leaves l as it was.
func (l *Limits) UnmarshalText(text []byte) error {
	parsed, err := ParseLimits(string(text))
	if err == nil {
		*l = parsed
	}
	return err
}

func (w Window) text() string {
	unit := ""
	if w.Unit() != Requests {
		unit = " " + w.Unit().String()
	}
	amount := strconv.FormatInt(w.spec.Max, 10)
	switch w.Kind() {
	case SlidingWindow:
		return amount + unit + "/" + formatPeriod(w.spec.Per)
	case TokenBucket:
		rate, per := formatRate(w.spec.Rate)
		return "bucket " + rate + unit + "/" + per + " burst " + amount
	case CalendarWindow:
		return "fixed " + amount + unit + "/" + formatPeriod(w.spec.Per) + "@" + w.formatAnchor()
	}
	return "window without an algorithm"
}

// MarshalText writes w as ParseLimits reads it; the zero Window is an empty
// text.
func (w Window) MarshalText() ([]byte, error) {
	if w == (Window{}) {
		return []byte{}, nil
	}
	p := invalid.Problems{Owner: "throttle"}
	w.check("Window", &p)
	w.checkZone("Window", &p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return []byte(w.String()), nil
}

// UnmarshalText reads one window as ParseLimits does. An error leaves w as it
// was.
func (w *Window) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*w = Window{}
		return nil
	}
	var r reading
	if !r.fits(string(text)) {
		return r.errs[0]
	}
	p := newParser(string(text), 0)
	first := p.tok
	parsed, concurrency := p.limit()
	if concurrency != 0 {
		p.fail(first, "a concurrency is not a window: read it as Limits")
	}
	if p.err != nil {
		return p.err
	}
	problems := invalid.Problems{Owner: "throttle"}
	parsed.check("Window", &problems)
	if err := problems.Err(); err != nil {
		return err
	}
	*w = parsed
	return nil
}

func (w Window) checkZone(field string, p *invalid.Problems) {
	if w.Kind() == CalendarWindow && !hasNamedZone(w.spec.Anchor) {
		p.Addf(field+".Anchor", "the time zone %q has no text form: time.LoadLocation does not know it", w.spec.Anchor.Location())
	}
}
