package node

import (
	"context"
	"reflect"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// checkOptional reports methods of h that look like an optional method but are not: the right name with another signature, the
// right signature with almost the same name, a name that differs only in case, and methods that only a pointer to h has.
func checkOptional[S, In, Out any](h any, setup *invalid.Setup) {
	optional := map[string]reflect.Type{
		"Post": reflect.TypeFor[interface {
			Post(ctx context.Context, s S, r *Report[In, Out]) (Action, error)
		}]().Method(0).Type, // Defaults has one, which hides that of a handler's own is misspelt
		"Key":        reflect.TypeFor[keyer[In]]().Method(0).Type,
		"Cost":       reflect.TypeFor[coster[In]]().Method(0).Type,
		"Used":       reflect.TypeFor[settler[In, Out]]().Method(0).Type,
		"Fallback":   reflect.TypeFor[fallbacker[In, Out]]().Method(0).Type,
		"Unfinished": reflect.TypeFor[placeholder[In, Out]]().Method(0).Type,
		"Validate":   reflect.TypeFor[validator]().Method(0).Type,
	}
	given := reflect.TypeOf(h)
	v := reflect.ValueOf(h)
	if v.Kind() != reflect.Pointer {
		v = reflect.New(given) // has the methods of the value and of a pointer to it
	}
	for i := range v.NumMethod() {
		name, has := v.Type().Method(i).Name, v.Method(i).Type()
		if want, ok := optional[name]; ok {
			if has != want {
				setup.Addf(name, "the handler's method is %s, which is never called: it has to be %s", has, want)
			} else if _, callable := given.MethodByName(name); !callable {
				setup.Addf(name, "the handler's method is never called: it belongs to the pointer, so pass a *%s", given)
			}
			continue
		}
		for right, want := range optional {
			telling := has == want || strings.EqualFold(name, right) || weigh(has) && weigh(want) && has.NumIn() == want.NumIn()
			if telling && alike(name, right) {
				setup.Addf(name, "the handler's method is never called: did you mean %s?", right)
			}
		}
	}
}

// weigh reports whether a function returns only a cost, which shows its purpose.
func weigh(f reflect.Type) bool {
	return f.NumOut() == 1 && f.Out(0) == reflect.TypeFor[throttle.Cost]()
}

// alike reports whether a differs from b by case, or by a few letters added,
// left out, changed or swapped: by one in three, for short names have many
// neighbours (Get and Hex are no Key).
func alike(a, b string) bool {
	return distance(strings.ToLower(a), strings.ToLower(b)) <= max(1, len(b)/3)
}

// distance is the optimal string alignment distance: the least number of
// insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
