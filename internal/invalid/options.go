package invalid

import "strconv"

// Options applies options to x. A nil option is a problem of its place in the
// parameter opts, such as opts[1]. A function that returns no error passes a nil
// p, which leaves nil options out.
func Options[O ~func(T), T any](p *Problems, opts []O, x T) {
	for i, o := range opts {
		switch {
		case o != nil:
			o(x)
		case p != nil:
			p.Addf("opts["+strconv.Itoa(i)+"]", "nil: leave it out")
		}
	}
}
