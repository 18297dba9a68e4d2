package dialect

// Usage returns how many tokens the body of an answer says were read and
// generated, whatever the limits count of them: with what came from a cache or
// went into one, and with reasoning. Both are 0 if it does not say. body is as
// for Dialect.Read, of a success.
func Usage(body []byte) (input, output int64) {
	var d document
	d.read(body, false)
	u := &d.usage
	input, output = u.in+u.cacheRead+u.cacheWrite, u.out+u.thoughts
	if missing := u.total - input - output; missing > 0 {
		if input == 0 { // embeddings tell the total alone
			input = missing
		} else { // some leave the reasoning out of what was generated
			output += missing
		}
	}
	return bounded(input), bounded(output)
}
