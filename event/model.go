package event

// Model calls, for a [Tracer] that traces ModelStarted. Source is the host.
const (
	// ModelStarted: a request that names a model begins.
	ModelStarted Kind = "model.started"

	// ModelFinished: its response was read or closed, or it failed with Err. It was
	// sent Attempt times and took Wait, waits included.
	ModelFinished Kind = "model.finished"
)

// Model is the detail of ModelStarted and ModelFinished. It is immutable, and has
// no content of prompts or answers.
type Model struct {
	// Provider is a provider of package presets, such as "openai", or empty.
	Provider string
	// URL has no user, query or fragment.
	URL string
	// Asked is the model in the request, Answered that in the response, or empty.
	Asked, Answered string
	// Status is the HTTP status; 0 without a response.
	Status int
	// Input and Output are the tokens that the response reports, or 0. Input
	// includes cached tokens, Output reasoning.
	Input, Output int64
}
