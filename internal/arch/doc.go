// Package arch holds the test that keeps the table in order: imports go
// strictly down the layers, and the core depends on nothing that was not
// decided. The layers are in layers_test.go; a new package has to be placed
// there, and its rule in .golangci.yml, before the test passes.
package arch
