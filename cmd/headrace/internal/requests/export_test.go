package requests

// Twice finds the repeated among ids, with so many of them in memory.
func Twice(ids []string, most int) (found map[int64]int64, err error) {
	t := &twice{most: most}
	defer t.close()
	found = map[int64]int64{}
	for i, id := range ids {
		if err := t.add(id, int64(i+1)); err != nil {
			return nil, err
		}
	}
	return found, t.find(func(again, first seen) error {
		found[again.line()] = first.line()
		return nil
	})
}

// Long is a scan of requests with bodies of these lengths.
func Long(lengths []int) *Scan {
	s := &Scan{}
	for _, n := range lengths {
		s.long.add(n)
	}
	return s
}
