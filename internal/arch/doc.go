// Package arch holds the test that keeps the house in order: imports go
// strictly down the floors, and the core depends on nothing that was not
// decided. The floors stand in floors_test.go; a new package has to be placed
// there, and its rule in .golangci.yml, before the test passes.
package arch
