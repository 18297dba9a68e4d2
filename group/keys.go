package group

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/hook"
)

// key returns the one of that name, made if it is new.
func (l *leader) key(o *opening) (k *key, err error) {
	if o.Name == "" || len(o.Name) > mostName {
		return nil, fmt.Errorf("%w: a key of %d bytes", errFrame, len(o.Name))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.keys[o.Name]; known != nil {
		known.touch()
		return known, nil
	}
	if len(l.keys) >= mostKeys && !l.forgetLocked(recalling) {
		return nil, fmt.Errorf("group: more than %d keys", mostKeys)
	}
	now := time.Now()
	k = &key{name: o.Name, made: now, used: now, share: l.share(o), desks: map[*desk]struct{}{}}
	last, saved := l.saved[o.Name], o.Saved
	if len(last.Saved) > 0 {
		saved = last.Saved
	}
	g, err := o.Spec.make(o.Name, k.share, saved, k)
	if err != nil {
		return nil, err
	}
	k.guard, k.inside = g, hook.Open[interior](g)
	k.spec, _ = json.Marshal(o.Spec) //nolint:errchkjson // it was read as JSON
	l.keys[o.Name] = k
	switch k.await = min(o.Others, mostMembers); {
	case l.alone:
	case k.await > 0:
		g.Pause(k.made.Add(l.calm))
	case l.open.After(k.made): // the member is new to the group, and does not know of others
		k.await = mostMembers + 1
		g.Pause(l.open)
	}
	if before := last.Hold; before != (hold{}) {
		before = before.after(now.Sub(l.begun))
		before.Age = recalling // it is of another leader
		k.recall(&before)
	}
	delete(l.saved, o.Name)
	return k, nil
}

// forgetting is how long a leader remembers a key that no member uses.
const forgetting = 24 * time.Hour

// forgetLocked forgets the key that was not used for the longest time, if that is longer than d.
// A call of a member that has vanished may hold a slot of it until then.
func (l *leader) forgetLocked(d time.Duration) bool {
	var oldest *key
	for _, k := range l.keys {
		if idle := k.idle(); idle > d {
			oldest, d = k, idle
		}
	}
	if oldest == nil {
		return false
	}
	delete(l.keys, oldest.name)
	return true
}

// share is the part of a limit that the calls here may use.
func (l *leader) share(o *opening) float64 {
	if l.alone && o.Members > 1 {
		return 1 / float64(min(o.Members, mostMembers))
	}
	return 1
}
