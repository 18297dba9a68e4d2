package dialect

// Usage returns the input and output tokens that the body of a successful response
// reports, with cached and reasoning tokens; 0 if it reports none.
func Usage(body []byte) (input, output int64) {
	var d document
	d.read(body, false)
	u := &d.usage
	input, output = u.in+u.cacheRead+u.cacheWrite, u.out+u.thoughts
	if missing := u.total - input - output; missing > 0 {
		if input == 0 { // embeddings report only the total
			input = missing
		} else { // some leave the reasoning out of what was generated
			output += missing
		}
	}
	return bounded(input), bounded(output)
}
