package event

// What model calls tell, to a [Tracer] that wants to know of ModelStarted and to
// nobody else. Source is the host that was asked.
const (
	// ModelStarted: a request that names a model begins. Event.Model has what it asks for.
	ModelStarted Kind = "model.started"

	// ModelFinished: it is over: its answer was read to the end or closed, or it failed.
	// There is one for a request, however often it was sent: Attempt is how often. Wait is how
	// long it took, waits included; Err is why there is no answer. Event.Model has all that is known.
	ModelFinished Kind = "model.finished"
)

// Model is what a ModelStarted and a ModelFinished tell besides. Nobody
// changes it after it was sent. It holds nothing that was said to or by the model.
type Model struct {
	// Provider is whose API it is, as presets spell it, such as "openai"; empty if nobody said.
	Provider string
	// URL is without user, query and fragment.
	URL string
	// Asked is the model that the request names; Answered the one that the answer names, or empty.
	Asked, Answered string
	// Status is the one of HTTP; 0: there was no answer.
	Status int
	// Input and Output are tokens, by what the answer says; 0 if it did not. What came from a
	// cache is in Input, and reasoning in Output.
	Input, Output int64
}
