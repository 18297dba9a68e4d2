package rest

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/headrace/headrace/service/internal/decide"
)

// The functions below append the members of a JSON object, and what they append is what encoding/json writes. An object
// begins with "{"; the caller appends the "}".

func appendKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, `":`...)
}

func appendString(b []byte, name, value string) []byte {
	b = appendKey(b, name)
	for i := range len(value) {
		switch c := value[i]; {
		case c < ' ' || c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			text, _ := json.Marshal(value) // of a string it never fails
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, value...)
	return append(b, '"')
}

// appendOptional leaves out an empty value.
func appendOptional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendString(b, name, value)
}

func appendInt(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendKey(b, name), n, 10)
}

func appendBool(b []byte, name string, v bool) []byte {
	return strconv.AppendBool(appendKey(b, name), v)
}

// appendRetry appends a time to wait in seconds; null for decide.Never.
func appendRetry(b []byte, name string, d time.Duration) []byte {
	b = appendKey(b, name)
	if d == decide.Never {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, seconds(d), 'f', -1, 64)
}

// appendTime appends a time; null for the zero time.
func appendTime(b []byte, name string, t time.Time) []byte {
	b = appendKey(b, name)
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeFormat)
	return append(b, '"')
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// append appends the names that are not empty.
func (n *named) append(b []byte) []byte {
	b = appendOptional(b, "scope", n.Scope)
	b = appendOptional(b, "identifier", n.Identifier)
	return appendOptional(b, "resource", n.Resource)
}

// append appends the names as an object of that name.
func (n *named) appendObject(b []byte, name string) []byte {
	return append(n.append(append(appendKey(b, name), '{')), '}')
}

func (e *errorOut) appendObject(b []byte) []byte {
	b = append(appendKey(b, "error"), '{')
	b = appendString(b, "code", e.Code)
	b = appendString(b, "message", e.Message)
	return append(appendOptional(b, "field", e.Field), '}')
}

func appendDegraded(b []byte, why decide.Reason) []byte {
	b = appendBool(b, "degraded", why != "")
	return appendOptional(b, "degraded_reason", string(why))
}

func (r *resultOut) appendObject(b []byte) []byte {
	b = r.append(append(b, '{'))
	b = appendBool(b, "allowed", r.Allowed)
	b = appendInt(b, "tokens_remaining", r.Remaining)
	b = appendInt(b, "tokens_capacity", r.Capacity)
	b = appendRetry(b, "retry_after_seconds", r.RetryAfter)
	b = appendTime(b, "reset_at", r.ResetAt)
	b = appendDegraded(b, r.Degraded)
	b = appendOptional(b, "rule", r.Rule)
	b = appendOptional(b, "permit", r.Permit)
	if r.Error != nil {
		b = r.Error.appendObject(b)
	}
	return append(b, '}')
}

func appendResults(b []byte, all []resultOut) []byte {
	b = append(appendKey(b, "results"), '[')
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = all[i].appendObject(b)
	}
	return append(b, ']')
}

func (a *allOut) appendObject(b []byte) []byte {
	b = appendBool(append(b, '{'), "allowed", a.Allowed)
	b = appendRetry(b, "retry_after_seconds", a.RetryAfter)
	b = appendDegraded(b, a.Degraded)
	b = appendOptional(b, "permit", a.Permit)
	if a.Blocking != nil {
		b = a.Blocking.appendObject(b, "blocking")
	}
	if a.Tightest != nil {
		b = a.Tightest.appendObject(b, "most_restrictive")
	}
	b = appendResults(b, a.Results)
	if a.Error != nil {
		b = a.Error.appendObject(b)
	}
	return append(b, '}')
}
