// Package rules reads the configuration of the service and says which limits apply to a
// scope and a resource.
package rules
