package guide

import (
	"context"
	"net"
	"regexp"
	"strings"

	"github.com/headrace/headrace/internal/freeport"
)

// FreePorts returns replacements for the local addresses of a page with ports that
// are taken, or for all of them.
func FreePorts(ctx context.Context, page string, all bool) (*strings.Replacer, error) {
	var pairs []string
	for _, address := range regexp.MustCompile(`127\.0\.0\.1:[1-9]\d+`).FindAllString(page, -1) {
		if _, err := listen(ctx, address); err == nil && !all {
			continue
		}
		free, err := freeport.Address(ctx)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, address, free)
	}
	return strings.NewReplacer(pairs...), nil
}

// listen listens for a moment, and returns where.
func listen(ctx context.Context, address string) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
