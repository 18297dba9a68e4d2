package presets

import (
	"strings"
	"time"
)

// reset reads when the days of a row begin: "midnight UTC", "midnight
// America/Los_Angeles". ok is false if the row does not say.
func (c *checker) reset(r *row) (anchor time.Time, ok bool) {
	if r.reset == "" {
		return time.Time{}, false
	}
	name, understood := strings.CutPrefix(r.reset, "midnight ")
	if !understood || name == "" || name == "Local" {
		c.add(r, "reset", `%q is not understood: write "midnight UTC" or midnight and an IANA time zone`, clip(r.reset))
		return time.Time{}, false
	}
	loc, seen := c.zones[name] // the system keeps them in files
	if !seen {
		if c.zones == nil {
			c.zones = map[string]*time.Location{}
		}
		loc = zone(name, time.LoadLocation)
		c.zones[name] = loc
	}
	if loc == nil {
		c.add(r, "reset", "the time zone %q is unknown: write an IANA name such as America/Los_Angeles; "+
			"where a machine has no such database, import time/tzdata", clip(name))
		return time.Time{}, false
	}
	return time.Date(2024, 1, 1, 0, 0, 0, 0, loc), true
}

// zone finds a time zone. The one that the table needs does not depend on the
// machine's database, which scratch containers lack: without it the day begins
// at the offset of winter, an hour late in summer. Embedding the database for
// that hour would add 450 kB to every program.
func zone(name string, load func(string) (*time.Location, error)) *time.Location {
	loc, err := load(name)
	if err == nil {
		return loc
	}
	if name == "America/Los_Angeles" {
		return time.FixedZone("", -8*60*60)
	}
	return nil
}
