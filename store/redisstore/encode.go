package redisstore

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

type amounts = meter.Amounts // by unit

func text(n int64) string { return strconv.FormatInt(n, 10) }

// micros rounds up, so that nothing is early.
func micros(d time.Duration) int64 {
	us := d.Microseconds()
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}

func unixMicros(t time.Time) int64 {
	us := t.UnixMicro() // rounds down
	if t.Nanosecond()%1000 > 0 {
		us++
	}
	return us
}

func fromMicros(us int64) time.Duration {
	return time.Duration(min(us, int64(throttle.Forever/time.Microsecond))) * time.Microsecond
}

// digest is the part of a key's name that Redis sees: of fixed length, without braces.
func digest(text string, bytes int) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:bytes])
}

// demand appends the words of a demand, as the script's demands reads them. now is for calendars.
func demand(words []string, d *quota.Demand, a *amounts, now time.Time) []string {
	words = append(words, d.Key, specOf(d.Limits.Windows), "")
	at := len(words)
	for _, w := range d.Limits.Windows {
		if w.Kind() == throttle.CalendarWindow {
			words = period(words, w, now)
		}
	}
	packed := appendNumber(make([]byte, 0, 8*(len(a)+2)), int64(d.Limits.Concurrency))
	for _, n := range a {
		packed = appendNumber(packed, n)
	}
	words[at-1] = string(appendNumber(packed, int64(len(words)-at)))
	return words
}

// appendNumber appends n as the numbers of the script are.
func appendNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(float64(n)))
}

// period appends three words about the periods of a calendar: where all of them can be counted from, or when the
// one around now and the next begin and end.
func period(words []string, w throttle.Window, now time.Time) []string {
	if regular(w) {
		return append(words, "-", text(unixMicros(w.Anchor())), "-")
	}
	first, second := w.Period(now)
	_, third := w.Period(second)
	return append(words, text(unixMicros(first)), text(unixMicros(second)), text(unixMicros(third)))
}

// regular reports whether all periods of a calendar are of one length.
func regular(w throttle.Window) bool {
	return w.Per()%time.Microsecond == 0 && (w.Per()%(24*time.Hour) != 0 || w.Anchor().Location() == time.UTC)
}

// dated reports whether the words of a demand depend on the time.
func dated(demands []quota.Demand) bool {
	for i := range demands {
		for _, w := range demands[i].Limits.Windows {
			if w.Kind() == throttle.CalendarWindow && !regular(w) {
				return true
			}
		}
	}
	return false
}

// zones returns an error for a calendar in time.Local, which may be another zone in another process.
func zones(demands []quota.Demand) error {
	for i := range demands {
		for _, w := range demands[i].Limits.Windows {
			if w.Kind() != throttle.CalendarWindow || w.Anchor().Location().String() != "Local" {
				continue
			}
			if begin, end := w.Anchor().ZoneBounds(); begin.IsZero() && end.IsZero() {
				continue // its offset says all
			}
			return &fault.FieldError{Owner: "redisstore", Field: fmt.Sprintf("the limits of %q", demands[i].Key), Problem: "the anchor of a " +
				`calendar window is in time.Local, which may be another zone in another process: give its zone by name, as time.LoadLocation("Europe/Berlin") does, or take time.UTC`}
		}
	}
	return nil
}

// specOf writes windows for the script, which compares them as text and reads the first four fields: kind, unit,
// max and length, or rate. Behind these is what readSpec needs: the nanoseconds that rounding has added to the
// length, and the anchor of a calendar with its zone.
func specOf(windows []throttle.Window) string {
	var b []byte
	for _, w := range windows {
		b = append(b, '0'+byte(w.Kind()), ' ', '0'+byte(w.Unit()), ' ')
		b = append(strconv.AppendInt(b, w.Max(), 10), ' ')
		added, anchor, zone := int64(0), int64(0), "-"
		if w.Kind() == throttle.TokenBucket {
			b = strconv.AppendFloat(b, w.Rate(), 'g', -1, 64)
		} else {
			us := micros(w.Per())
			b, added = strconv.AppendInt(b, us, 10), us*1000-int64(w.Per())
		}
		if w.Kind() == throttle.CalendarWindow {
			t := w.Anchor()
			_, offset := t.Zone()
			anchor, zone = t.UnixNano(), strconv.Itoa(offset)+"/"+url.QueryEscape(t.Location().String())
		}
		b = append(strconv.AppendInt(append(b, ' '), added, 10), ' ')
		b = append(strconv.AppendInt(b, anchor, 10), ' ')
		b = append(append(b, zone...), ';')
	}
	return string(b)
}

// readSpec is the inverse of specOf.
func readSpec(spec string) []throttle.Window {
	var windows []throttle.Window
	for part := range strings.SplitSeq(strings.TrimSuffix(spec, ";"), ";") {
		f := strings.Fields(part)
		if len(f) != 7 {
			continue
		}
		most, length := number(f[2]), time.Duration(number(f[3])*1000-number(f[4]))
		var w throttle.Window
		switch f[0][0] - '0' {
		case byte(throttle.SlidingWindow):
			w = throttle.Sliding(most, length)
		case byte(throttle.TokenBucket):
			rate, _ := strconv.ParseFloat(f[3], 64)
			w = throttle.Bucket(rate, most)
		default:
			w = throttle.Fixed(most, length, readAnchor(number(f[5]), f[6]))
		}
		windows = append(windows, w.Of(throttle.Unit(number(f[1])))) //nolint:gosec // a single digit
	}
	return windows
}

func readAnchor(ns int64, zone string) time.Time {
	at := time.Unix(0, ns).UTC()
	offset, name, _ := strings.Cut(zone, "/")
	name, _ = url.QueryUnescape(name)
	if loc, err := time.LoadLocation(name); err == nil {
		if _, o := at.In(loc).Zone(); int64(o) == number(offset) {
			return at.In(loc)
		}
	}
	return at.In(time.FixedZone(name, int(number(offset))))
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
