// Package rest is the REST API of the service.
package rest
