package command

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// numbers parses whole numbers and times. Its errors give an example of a valid value.
func numbers() kong.Option {
	return kong.OptionFunc(func(k *kong.Kong) error {
		for _, kind := range []reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64} {
			if err := kong.KindMapper(kind, kong.MapperFunc(whole)).Apply(k); err != nil {
				return err
			}
		}
		return kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(duration)).Apply(k)
	})
}

func whole(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	var err error
	if target.CanUint() {
		var n uint64
		n, err = strconv.ParseUint(text, 10, target.Type().Bits())
		target.SetUint(n)
	} else {
		var n int64
		n, err = strconv.ParseInt(text, 10, target.Type().Bits())
		target.SetInt(n)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is out of range", text)
	case err != nil:
		return fmt.Errorf("%q is not a whole number, such as 500", text)
	}
	return nil
}

func duration(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a time: it needs a unit, such as 30s, 5m or 1h30m", text)
	}
	target.SetInt(int64(d))
	return nil
}
