package flow

import "sync/atomic"

// vouched is set for a container inside another one that runs: the first run of the outer one has validated everything inside.
// Then the first run of the inner one checks only its own graph. If each of many nested flows validated all deeper ones again,
// the time would grow with the cube of their number. A node that was changed since reports its problems when it runs, and Validate
// reports them at once.
type vouched struct{ yes atomic.Bool }

func (v *vouched) vouch() (first bool) { return !v.yes.Swap(true) }

// vouchInside vouches for all containers in x, which were validated for a run.
func vouchInside(x any) {
	everything(x, map[any]bool{}, func(x any) bool {
		c, ok := containerOf(x)
		return ok && c.vouch()
	})
}

// checkForRun is Validate before the first run.
func checkForRun(x interface {
	container
	checkGraph(names bool) error
}, v *vouched,
) error {
	if v.yes.Load() {
		return x.checkGraph(false)
	}
	err := validate(x)
	if err == nil {
		vouchInside(x)
	}
	return err
}
