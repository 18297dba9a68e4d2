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

// keepAll sends what is to be kept to news about once a second, until the end. It takes long if there are many keys,
// so the lease is renewed in between.
func (l *leader) keepAll(news chan<- []byte) {
	for l.ctx.Err() == nil {
		select {
		case news <- l.keep(time.Now()):
		case <-l.ctx.Done():
		}
		rest(l.ctx, saving)
	}
}

// keep returns what is known of all keys, without those that were not used for the longest
// time if that is too much.
func (l *leader) keep(now time.Time) []byte {
	type candidate struct {
		kept

		live *key // nil: no member has used it since
	}
	l.mu.Lock()
	all := make([]candidate, 0, len(l.keys)+len(l.saved))
	for _, k := range l.keys {
		all = append(all, candidate{kept{Name: k.name}, k})
	}
	for _, k := range l.saved {
		k.Hold = k.Hold.after(now.Sub(l.begun))
		all = append(all, candidate{k, nil})
	}
	l.mu.Unlock()
	for i := range all {
		if k := all[i].live; k != nil {
			all[i].Used = now.Add(-k.idle())
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name))
	})
	next := keeping{Version: version, At: now}
	size := 0
	for i := range all {
		k := &all[i]
		if now.Sub(k.Used) > forgetting {
			break
		}
		if k.live != nil {
			k.Hold = k.live.hold()
			k.Saved, _ = k.live.guard.Save() // without it the next leader starts anew
		}
		text, _ := json.Marshal(k.kept) //nolint:errchkjson // it is ours
		if size += len(text) + 1; size > mostKept {
			break
		}
		next.Keys = append(next.Keys, k.kept)
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
		return keys, fmt.Errorf("group: the state stored by the last leader is damaged: %w", err)
	}
	if last.Version != version {
		return keys, fmt.Errorf("group: the state stored by the last leader has version %d, and this process uses version %d", last.Version, version)
	}
	past := min(max(0, now.Sub(last.At)), longestCall)
	for _, k := range last.Keys[:min(len(last.Keys), mostKeys)] {
		k.Hold = k.Hold.after(past)
		keys[k.Name] = k
	}
	return keys, nil
}
