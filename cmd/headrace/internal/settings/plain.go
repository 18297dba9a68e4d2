package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

// Plain rewords an error of the library about a flag's text, without the names of its packages.
func Plain(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		if parts := many.Unwrap(); len(parts) == 2 { // two of them may be the same
			if of, ok := parts[0].(*fault.FieldError); ok && of.Problem == parts[1].Error() { //nolint:errorlint // only err itself, not an error it wraps
				return Plain(parts[1])
			}
		}
		var all []string
		for _, one := range many.Unwrap() {
			if text := Plain(one); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return strings.Join(all, "; ")
	}
	limit, field := (*throttle.ParseError)(nil), (*fault.FieldError)(nil)
	preset, mode := (*presets.UnknownError)(nil), (*console.ModeError)(nil)
	switch {
	case errors.As(err, &limit) && limit.Text == "":
		return limit.Problem
	case errors.As(err, &limit):
		return fmt.Sprintf("%q: %s", limit.Text, limit.Problem)
	case errors.As(err, &preset):
		hint := "headrace presets list shows all"
		if len(preset.Near) > 0 {
			var near []string
			for _, id := range preset.Near {
				near = append(near, string(id))
			}
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return fmt.Sprintf("there is no preset %q: %s", preset.Name, hint)
	case errors.As(err, &field):
		return field.Problem
	case errors.As(err, &mode):
		return fmt.Sprintf("%q is not one of auto, tty, plain, json, off", mode.Text)
	}
	return err.Error()
}

// Damaged returns which limits a store cannot read, and why, if that is what err is about. Other limits are not affected.
func Damaged(err error) (problem string, ok bool) {
	f, ok := errors.AsType[*fault.FieldError](err)
	if !ok {
		return "", false
	}
	return f.Field + ": " + f.Problem, true
}

// Lasting reports whether an error of a store lasts until a person repairs the store. A server that does not respond, and a file
// that another process has locked, may be available again at any time.
func Lasting(err error) bool {
	if _, damaged := Damaged(err); damaged || errors.As(err, new(*sqlitestore.NewerError)) {
		return true
	}
	return slices.ContainsFunc([]error{
		sqlitestore.ErrFull, sqlitestore.ErrReadOnly, sqlitestore.ErrGone, sqlitestore.ErrForeign, sqlitestore.ErrDamaged, sqlitestore.ErrUnusable,
	}, func(of error) bool { return errors.Is(err, of) })
}
