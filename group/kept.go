package group

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// mostKept bounds what a leader keeps for the next one, in bytes.
const mostKept = 1 << 20

// kept is what a leader keeps of a key for the next one.
type kept struct {
	Name  string          `json:"name"`
	Used  time.Time       `json:"used"` // last by a member
	Saved json.RawMessage `json:"saved,omitempty"`
	Hold  hold            `json:"hold,omitzero"`
}

// keeping is what a leader keeps. Times are of its clock.
type keeping struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Keys    []kept    `json:"keys"` // the one that was used last first
}

// keep returns what is known of all keys, without those that were not used for the longest
// time if that is too much.
func (l *leader) keep(now time.Time) []byte {
	l.mu.Lock()
	var all []kept
	var live []*key
	for _, k := range l.keys {
		live = append(live, k)
	}
	for _, k := range l.saved { // which no member has used since
		k.Hold = k.Hold.after(now.Sub(l.begun))
		all = append(all, k)
	}
	l.mu.Unlock()
	for _, k := range live {
		one := kept{Name: k.name, Used: now.Add(-k.idle()), Hold: k.hold()}
		one.Saved, _ = k.guard.Save() // without it the next leader starts anew
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b kept) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name))
	})
	next := keeping{Version: version, At: now}
	size := 0
	for _, k := range all {
		text, _ := json.Marshal(k) //nolint:errchkjson // it is ours
		if size += len(text) + 1; size > mostKept || now.Sub(k.Used) > forgetting {
			break
		}
		next.Keys = append(next.Keys, k)
	}
	text, _ := json.Marshal(next) //nolint:errchkjson // it is ours
	return text
}

// recalled reads at now what keep has returned.
func recalled(text []byte, now time.Time) (keys map[string]kept, err error) {
	keys = map[string]kept{}
	if len(text) == 0 {
		return keys, nil
	}
	var last keeping
	if err := json.Unmarshal(text, &last); err != nil {
		return keys, fmt.Errorf("group: what the last leader has kept is damaged: %w", err)
	}
	if last.Version != version {
		return keys, fmt.Errorf("group: what the last leader has kept is of version %d, and this process uses version %d", last.Version, version)
	}
	past := min(max(0, now.Sub(last.At)), longestCall)
	for _, k := range last.Keys[:min(len(last.Keys), mostKeys)] {
		k.Hold = k.Hold.after(past)
		keys[k.Name] = k
	}
	return keys, nil
}
