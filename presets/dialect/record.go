package dialect

// beside notes whether the value of a key, which is not taken, makes a record
// of the whole answer: a job that has failed, an operation that is done, rows
// of which some could not be written. The error in such an answer is what was
// asked for, and no word on the call itself. So it is in a list of more than one.
func (d *document) beside(s *scanner, key []byte) {
	switch string(key) {
	case "id", "name", "status", "done":
		d.record = true
	case "error", "errors", "extensions", "message", "meta", "metadata", "response_metadata", "headers", "warnings", "base_resp":
	default:
		if c := s.Peek(); (c == '{' || c == '[') && !s.Hollow() {
			d.record = true
		}
	}
}

// pardon forgets the error of a record. Slack says ok, MiniMax base_resp and Shopify THROTTLED of the call alone.
func (d *document) pardon() {
	if !d.record || d.shape.all(hasOK) || d.shape.all(hasBaseResp) {
		return
	}
	if d.partly = d.shape.all(hasExtensions) && has(d, "throttled"); d.partly {
		return
	}
	d.failed, d.codes, d.message, d.header = false, nil, "", nil
	d.quota, d.retry, d.retryKnown = quotaFailure{}, 0, false
}
