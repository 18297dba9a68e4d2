package browsertests_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is the Chromium of all tests, and tabs its pages.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps a tab in it
}

// opened starts Chromium, or skips the test.
func opened(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed (apt-get install chromium): the page was NOT tested in a browser")
	}
	profile, err := os.MkdirTemp("", "headrace-chromium-") //nolint:usetesting // its end would fail: see below
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // children of Chromium may still write there
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(profile))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, endTab := chromedp.NewContext(ctx)
	t.Cleanup(endTab)
	b := &browser{t: t, ctx: ctx}
	b.do(chromedp.Navigate("about:blank"))
	return b
}

// strict fails the test for what the page writes to the console, and for requests to elsewhere. The function that it
// returns ends that.
func (b *browser) strict(base string) (end func()) {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.ctx)
	var wg sync.WaitGroup
	messages, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	wg.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.t.Errorf("the console says %s", m)
		}
	})
	wg.Go(func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if url := r.Request.URL; len(url) < len(base) || url[:len(base)] != base && url[:5] != "data:" {
				b.t.Errorf("the page requests %s", url)
			}
		}
	})
	return func() {
		stop()
		wg.Wait()
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// until waits until an expression is true in the page. It may throw as long as what it looks at is not there.
func (b *browser) until(expression string) {
	b.t.Helper()
	var err error
	isTrue := "(() => { try { return !!(" + expression + ") } catch { return false } })()"
	for range 10 {
		_, err = chromedp.Run(b.ctx, chromedp.Poll[bool](isTrue, chromedp.WithPollingTimeout(time.Minute)))
		if err == nil || !strings.Contains(err.Error(), "Cannot find context") { // the page that was asked has just been replaced
			break
		}
	}
	require.NoError(b.t, err, "%s\n%s", expression, b.text("document.body.innerText"))
}

func (b *browser) text(expression string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	require.NoError(b.t, err, expression)
	return text
}

func (b *browser) number(expression string) float64 {
	b.t.Helper()
	n, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](expression))
	require.NoError(b.t, err, expression)
	return n
}

// keys types on the keyboard.
func (b *browser) keys(keys string, options ...chromedp.KeyOption) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys, options...))
}

// look is how the page is looked at.
func (b *browser) look(width int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 900), func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return none, err
	})
}

// picture writes what there is to see to a file, if pictures are wanted.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(*pictures, 0o755))
	path := filepath.Join(*pictures, name+".png")
	require.NoError(b.t, os.WriteFile(path, image, 0o644))
	b.t.Log(path)
}

// card is an expression for the card of a limiter.
func card(limiter string) string {
	return fmt.Sprintf("document.querySelector('[aria-label=\"Limiter %s\"]')", limiter)
}
