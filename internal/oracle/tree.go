package oracle

// node sums up a stretch of a log.
type node struct {
	sum  wide // of the weights, less what came in before each of them
	best wide // the largest such sum from the weight of any one entry to the end
}

func (l node) then(r node) node {
	n := node{l.sum.plus(r.sum), l.best.plus(r.sum)}
	if n.best.less(r.best) {
		n.best = r.best
	}
	return n
}

// tree is a segment tree: node 1 sums up everything, node k what 2k and 2k+1 do.
type tree []node

func newTree(entries int) tree {
	size := 1
	for size < entries {
		size *= 2
	}
	return make(tree, 2*size)
}

func (t tree) leaf(i int) node { return t[len(t)/2+i] }

func (t tree) set(i int, n node) {
	k := len(t)/2 + i
	t[k] = n
	for k /= 2; k > 0; k /= 2 {
		t[k] = t[2*k].then(t[2*k+1])
	}
}

// sumFrom is the sum from the entry i to the end.
func (t tree) sumFrom(i int) wide {
	if i >= len(t)/2 {
		return wide{}
	}
	k := len(t)/2 + i
	sum := t[k].sum
	for ; k > 1; k /= 2 {
		if k%2 == 0 {
			sum = sum.plus(t[k+1].sum)
		}
	}
	return sum
}
