package yamldoc

import "go.yaml.in/yaml/v4"

// pair is a key of a mapping with its value.
type pair struct{ key, value *yaml.Node }

// merged lists what n holds, with what its merge keys take over: what n says
// itself goes before that, and an earlier mapping before a later one.
func (d *Document) merged(n *yaml.Node, depth int) ([]pair, error) {
	switch d.taken++; {
	case depth > deepest:
		return nil, problemAt(placeOf(n), "the merge keys are nested too deeply, or a mapping merges itself")
	case d.taken > d.plain+largest:
		return nil, problemAt(placeOf(n), tooLarge, largest)
	}
	var own, taken []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, problemAt(placeOf(n.Content[i]), "a key is a text here: write the name of a setting")
		case key.ShortTag() != "!!merge":
			own = append(own, pair{n.Content[i], n.Content[i+1]})
			continue
		}
		from := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			from = value.Content
		}
		for _, m := range from {
			if m = resolve(m); m.Kind != yaml.MappingNode {
				return nil, problemAt(placeOf(m), "a merge key takes a mapping, or a list of them, such as <<: *common")
			}
			pairs, err := d.merged(m, depth+1)
			if err != nil {
				return nil, err
			}
			taken = append(taken, pairs...)
			d.taken += len(pairs)
		}
	}
	known := map[string]bool{}
	for i, p := range own {
		own[i].key = resolve(p.key)
		known[own[i].key.Value] = true
	}
	for _, p := range taken {
		if key := resolve(p.key).Value; !known[key] {
			known[key] = true
			own = append(own, p)
		}
	}
	return own, nil
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
