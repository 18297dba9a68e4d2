package decide

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

const (
	owner = "service"
	// prefix is what the keys of the service in a store begin with.
	prefix = "service/"
	// localTicket is what the IDs of tickets of quota.FallbackStore begin with.
	localTicket = "local."
)

func field(name, format string, args ...any) error {
	return &fault.FieldError{Owner: owner, Field: name, Problem: fmt.Sprintf(format, args...)}
}

func indexed(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

// complete fills in the defaults of a check and validates it. Fields are named below at.
func (c *Check) complete(at string) error {
	if c.Scope == "" {
		c.Scope = DefaultScope
	}
	if c.Tokens == 0 {
		c.Tokens = 1
	}
	if c.Identifier == "" {
		c.Identifier = c.Metadata[c.Scope]
	}
	problem := ""
	name := ""
	switch {
	case c.Tokens < 1 || c.Tokens > MaxTokens:
		name, problem = "tokens", fmt.Sprintf("%d is not between 1 and %d", c.Tokens, MaxTokens)
	case c.Identifier == "" && c.Metadata != nil:
		name, problem = "identifier", fmt.Sprintf("it is missing, and metadata has no %q", document.Clip(c.Scope))
	case c.Identifier == "":
		name, problem = "identifier", "it is missing: give the user, address or key that is limited"
	case c.Resource == "":
		name, problem = "resource", "it is missing: give what is used, such as search"
	case len(c.Metadata) > MaxMeta:
		name, problem = "metadata", fmt.Sprintf("%d entries are more than %d", len(c.Metadata), MaxMeta)
	default:
		for _, f := range [...]struct {
			name, text string
			most       int
		}{{"scope", c.Scope, MaxName}, {"identifier", c.Identifier, MaxID}, {"resource", c.Resource, MaxName}} {
			if problem = improper(f.text, f.most); problem != "" {
				name = f.name
				break
			}
		}
	}
	if problem == "" {
		return nil
	}
	return &fault.FieldError{Owner: owner, Field: at + name, Problem: problem}
}

// improper says why a text cannot be a part of a key; empty if it can.
func improper(s string, most int) string {
	switch {
	case len(s) > most:
		return fmt.Sprintf("it has more than %d bytes", most)
	case !utf8.ValidString(s):
		return "it is not UTF-8"
	case strings.ContainsRune(s, utf8.RuneError): // JSON decoders put it for whatever they cannot read
		return "it has U+FFFD, which stands for bytes that are not UTF-8: escape them, such as in hexadecimal"
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return "it has a control character"
		}
	}
	return ""
}

// keyOf is the key of a check in the store. Its parts cannot have a control character.
func keyOf(c *Check) string {
	return prefix + "limit/" + c.Scope + "\x1f" + c.Identifier + "\x1f" + c.Resource
}

// KeyPrefix is what the keys of all limits in the store begin with.
const KeyPrefix = prefix + "limit/"

// SplitKey returns the parts of a key of a limit.
func SplitKey(key string) (scope, identifier, resource string, ok bool) {
	rest, ok := strings.CutPrefix(key, KeyPrefix)
	parts := strings.Split(rest, "\x1f")
	if !ok || len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// ask is a check with the rule that applies.
type ask struct {
	check *Check
	key   string
	rule  *rules.Rule
	cost  int64
}

func newAsk(set *rules.Set, c *Check) ask {
	return ask{c, keyOf(c), set.Resolve(c.Scope, c.Resource), c.Tokens * set.Cost(c.Resource)}
}

// asks completes checks that are decided together.
func (d *Decider) asks(cs []Check) (*rules.Set, []ask, error) {
	if len(cs) == 0 || len(cs) > MaxTogether {
		return nil, nil, field("checks", "%d checks are not between 1 and %d", len(cs), MaxTogether)
	}
	set := d.rules.Load()
	asks := make([]ask, len(cs))
	for i := range cs {
		c := &cs[i]
		if err := c.complete(indexed("checks", i) + "."); err != nil {
			return nil, nil, err
		}
		if c.DryRun != cs[0].DryRun {
			return nil, nil, field(indexed("checks", i)+".dry_run", "it differs from that of the first check: a list is checked or consumed as a whole")
		}
		asks[i] = newAsk(set, c)
	}
	return set, asks, nil
}

// one is a cost for windows that count points.
var one = throttle.Cost{Points: 1} //nolint:gochecknoglobals // a constant

// demands are those of asks, and which of them each ask is part of. Asks with the same
// key are one demand.
func demands(asks []ask) (all []quota.Demand, of []int) {
	all, of = make([]quota.Demand, 0, len(asks)), make([]int, len(asks))
next:
	for i := range asks {
		x := &asks[i]
		for j := range all {
			if all[j].Key == x.key {
				all[j].Cost.Points += x.cost
				of[i] = j
				continue next
			}
		}
		of[i] = len(all)
		all = append(all, quota.Demand{Key: x.key, Limits: x.rule.Limits, Cost: throttle.Cost{Points: x.cost}})
	}
	return all, of
}

// costError names the field of a check that can never be admitted.
func costError(err error, asks []ask) error {
	e, ok := errors.AsType[*throttle.CostError](err)
	if !ok {
		return err
	}
	name := "tokens"
	if len(asks) > 1 {
		for i := range asks {
			if asks[i].key == e.Limiter {
				name = indexed("checks", i) + ".tokens"
			}
		}
	}
	return field(name, "they cost %d, and the limit never holds more than %d: ask for fewer at a time", e.Amount, e.Max)
}
