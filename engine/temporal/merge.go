package temporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// decode returns the value of a JSON text, with numbers as they are written.
func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// mergeJSON returns what both sides have made of base. Objects are merged by member, and everything
// else is one value. It fails at the first path at which both have changed it.
func mergeJSON(path string, base, one, two any) (any, error) {
	switch {
	case reflect.DeepEqual(base, two), reflect.DeepEqual(one, two):
		return one, nil
	case reflect.DeepEqual(base, one):
		return two, nil
	}
	b, _ := base.(map[string]any)
	o, isOne := one.(map[string]any)
	t, isTwo := two.(map[string]any)
	if !isOne || !isTwo {
		return nil, conflict(path)
	}
	merged := map[string]any{}
	for _, side := range []map[string]any{o, t} {
		for name := range side {
			was, had := b[name]
			left, inOne := o[name]
			right, inTwo := t[name]
			var err error
			switch {
			case had && (!inOne && reflect.DeepEqual(was, right) || !inTwo && reflect.DeepEqual(was, left)):
				continue // one side has deleted it
			case had && (!inOne || !inTwo):
				return nil, conflict(path + "/" + name)
			case !inOne:
				merged[name] = right
			case !inTwo:
				merged[name] = left
			default:
				if merged[name], err = mergeJSON(path+"/"+name, was, left, right); err != nil {
					return nil, err
				}
			}
		}
	}
	return merged, nil
}

func conflict(path string) error {
	return fmt.Errorf("two nodes have changed %q of the state: each must write only to fields of its own", path)
}
