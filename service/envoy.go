package service

import (
	"crypto/sha256"
	"fmt"

	"github.com/headrace/headrace/service/internal/envoy"
	"github.com/headrace/headrace/service/internal/rules"
)

// ofEnvoy is what was read of the files of envoyproxy/ratelimit.
type ofEnvoy struct {
	settings    envoy.Settings
	differences []envoy.Difference
	sum         []byte // of the files; nil: there are none, or they could not be read
}

// readEnvoy adds the files that a configuration names to it.
func readEnvoy(data []byte, config *rules.Config, err error) (reading, error) {
	r := reading{data: data, config: config}
	if err != nil {
		return r, err
	}
	e := &config.Envoy
	files, err := envoy.Load(e.Files...)
	if err != nil {
		return r, err
	}
	r.envoy.sum = sum(files)
	c, differences, err := envoy.Parse(files)
	if err != nil {
		return r, err
	}
	r.envoy.settings = envoy.Settings{Config: c, ShadowMode: e.ShadowMode, Headers: envoy.Headers(e.Headers)}
	if len(files) > 0 {
		r.envoy.differences = differences
	}
	return r, nil
}

func sumOf(paths []string) []byte {
	files, err := envoy.Load(paths...)
	if err != nil {
		return nil
	}
	return sum(files)
}

// sum is different for different files.
func sum(files []envoy.File) []byte {
	if len(files) == 0 {
		return nil
	}
	h := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%q %d\n", f.Name, len(f.Data))
		_, _ = h.Write(f.Data)
	}
	return h.Sum(nil)
}
