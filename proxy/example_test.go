package proxy_test

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/proxy"
)

// A proxy of one's own, which ends well on SIGTERM.
func Example() {
	p, err := proxy.New(proxy.Config{
		Upstreams: map[string]proxy.Upstream{"local": {URL: "http://127.0.0.1:9000"}},
		Preset:    presets.OpenAITier1,
		Weights:   map[string]float64{"web": 3},
	})
	if err != nil {
		log.Fatal(err) // it names every field with a problem
	}
	l, err := p.Listen(context.Background(), "127.0.0.1:8787")
	if err != nil {
		log.Fatal(err)
	}
	s := p.Server()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = p.Drain(ctx)
		_ = s.Close()
	}()
	if err := s.Serve(l); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}
