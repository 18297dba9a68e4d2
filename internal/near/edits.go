package near

// tolerance is how many slips a name or word may have.
func tolerance(s string) int {
	if len(s) < 3 {
		return 0
	}
	return min(max(1, len(s)/4), 4)
}

// edits is how many bytes have to be put in, left out, changed or swapped with
// their neighbour to make b of a; or any number above most if they are more.
func edits(a, b string, most int) int {
	if apart := max(len(a)-len(b), len(b)-len(a)); apart > most {
		return apart
	}
	if a == b {
		return 0
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1], row[j]) + 1
			if a[i] == b[j] {
				row[j+1] = last[j]
			}
			row[j+1] = min(row[j+1], last[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
