package schema

import (
	"strings"
	"unicode"
)

// duration is what time.ParseDuration reads, without a minus.
const duration = `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

// Limits is a pattern for the texts of throttle.ParseLimits. It takes a little
// more than that: a number with two points, a window of nothing.
func Limits() string {
	const (
		space  = `\s*`
		count  = `[0-9._]+[kKmM]?`
		rate   = `[0-9._]+([eE][+-]?[0-9]+)?[kKmM]?`
		anchor = `(\s*@[^,;]*)?`
	)
	token, or := anyCase("token")+"[sS]?", func(s ...string) string { return "(" + strings.Join(s, "|") + ")" }
	unit := or(
		anyCase("request")+"[sS]?", token, or(anyCase("input"), anyCase("output"))+`\s+`+token, anyCase("point")+"[sS]?",
	)
	var times []string
	for _, name := range []string{
		"ns", "us", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes",
		"h", "hr", "hrs", "hour", "hours", "d", "day", "days", "w", "week", "weeks",
	} {
		times = append(times, anyCase(name))
	}
	time := or(append(times, "[µμ][sS]")...)
	period := "([0-9._]+" + space + ")?" + time + "(" + space + "[0-9._]+" + space + time + ")*"
	short := or("[rR]", "[qQ]", "[tT]", "[iI][tT]", "[oO][tT]") + "[pP][sSmMhHdD]"
	quota := space + or(short, "("+unit+space+")?"+or("/", anyCase("per"))+space+period)
	limit := or(
		"("+anyCase("sliding")+space+")?"+count+quota,
		anyCase("bucket")+space+rate+quota+"("+space+anyCase("burst")+space+count+")?",
		anyCase("fixed")+space+count+quota+anchor,
		count+space+anyCase("concurrent"),
		anyCase("concurrency")+space+count,
	)
	return "^" + space + or(anyCase("unlimited"), limit+"("+space+","+space+limit+")*") + space + "$"
}

// anyCase is a pattern for a word without regard to case: the flag for that is
// not in every dialect of regular expressions.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		switch upper := unicode.ToUpper(r); {
		case upper != r:
			b.WriteString("[" + string(r) + string(upper) + "]")
		case r == '.':
			b.WriteString(`\.`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
