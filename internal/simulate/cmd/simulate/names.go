package main

import (
	"fmt"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// name sets n to what s stands for.
func name(n *provider.Names, s string) error {
	switch s {
	case "everything":
		*n = provider.Everything
	case "requests":
		*n = provider.RequestsOnly
	case "nothing":
		*n = provider.Nothing
	default:
		return fmt.Errorf("%q is none of everything, requests, nothing", s)
	}
	return nil
}
