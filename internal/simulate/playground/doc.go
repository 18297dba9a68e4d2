// Package playground plays one provider with several controllers for the page
// in docs/playground. [Start] checks a [Request] and begins a [Run], whose
// slices of virtual time the page draws one after the other.
//
// It adds no model of its own: the provider, the controllers and the oracle are
// those of the packages beside it, so that a run is the same as one of
// `make simulate` with the same setting and seed. The package runs in any Go
// program. Folder wasm makes it available to the page.
package playground
