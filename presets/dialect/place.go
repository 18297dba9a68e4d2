package dialect

// place is the position of a member in an answer. An error or a usage counts only where providers put them: the output of a
// model or a tool is nested deeper, and may have members of any name.
type place uint8

const (
	elsewhere      place = iota // nothing counts
	outermost                   // in the answer, the event, or an element of a list of answers
	withinResponse              // "response": OpenAI's Responses API, Cohere's streams
	withinGroq                  // "x_groq"
	withinUsage                 // "meta" and "delta" of Cohere, "message" of Anthropic's message_start: they hold a usage
	withinQuery                 // "extensions" of GraphQL
	withinError                 // in an error, at any depth
)

// below returns the place of the members of the value of a key.
func (p place) below(key []byte) place {
	switch string(key) {
	case "response":
		return p.inside(withinResponse)
	case "x_groq":
		return p.inside(withinGroq)
	case "meta":
		if p == withinResponse {
			return withinUsage
		}
		return p.inside(withinUsage)
	case "message", "delta":
		return p.inside(withinUsage)
	case "extensions":
		return p.inside(withinQuery)
	}
	return elsewhere
}

// inside returns a place that is directly inside the outermost object.
func (p place) inside(of place) place {
	if p == outermost {
		return of
	}
	return elsewhere
}

// hasErrors reports whether a member called error is the provider's.
func (p place) hasErrors() bool {
	return p == outermost || p == withinResponse || p == withinGroq || p == withinError
}

// hasUsage reports whether a member called usage is the provider's.
func (p place) hasUsage() bool {
	return p == outermost || p == withinResponse || p == withinGroq || p == withinUsage
}
