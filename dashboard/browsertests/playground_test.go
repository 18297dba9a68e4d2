package browsertests_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/playground"
)

// groundDir is where ground has built the page; TestMain removes it.
var groundDir string

// ground builds docs/playground, once for all tests.
var ground = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "headrace-playground-")
	if err != nil {
		return "", err
	}
	groundDir = dir
	out, err := exec.Command("go", "run", "github.com/headrace/headrace/internal/simulate/cmd/playground",
		"-root", "../..", "-out", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// site is the page of the playground, served as a static host does.
type site struct {
	url  string
	mu   sync.Mutex
	seen []string // paths that were requested, sorted
}

func served(t *testing.T, host func(http.Handler) http.Handler) *site {
	t.Helper()
	dir, err := ground()
	require.NoError(t, err)
	s := &site{}
	files := host(http.FileServer(http.Dir(dir)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if !slices.Contains(s.seen, r.URL.Path) {
			s.seen = append(s.seen, r.URL.Path)
			slices.Sort(s.seen)
		}
		s.mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/"
	return s
}

func plain(h http.Handler) http.Handler { return h }

func (s *site) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// asShipped is the form as the page has it.
func asShipped() playground.Request {
	return playground.Request{
		Provider:    playground.Provider{Kind: playground.RateHalves, Rate: 600, Burst: 10, Change: 4, Cap: 20, Reports: playground.RetryAfter},
		Traffic:     playground.Traffic{AtOnce: 32, Seconds: 1, Calls: 3600},
		Controllers: []string{"headrace", "retry", "aimd", "aws", "inspect", "nall"},
		Seed:        1, Minutes: 10,
	}
}

// table is what the page should show of a request: the figures of a run in this process.
func table(t *testing.T, r playground.Request) string {
	t.Helper()
	run, err := playground.Start(r)
	require.NoError(t, err)
	defer run.Close()
	s, err := run.Next(1_000_000)
	require.NoError(t, err)
	require.True(t, s.Over)
	var lines []string
	for i, row := range s.Rows {
		digits, took := 0, "–"
		if row.PerMille < 10 {
			digits = 1
		}
		if row.Took > 0 {
			took = fmt.Sprintf("%d:%02d", int(row.Took)/60, int(row.Took)%60)
		}
		lines = append(lines, strings.Join([]string{
			run.Plan().Rows[i].Name, strconv.FormatFloat(row.Goodput, 'f', 1, 64) + " %",
			strconv.FormatFloat(row.PerMille, 'f', digits, 64), comma(row.Done), took,
		}, "|"))
	}
	return strings.Join(lines, "\n")
}

func comma(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

const (
	rows     = "[...document.querySelectorAll('#rows tr')].map((r) => [...r.children].map((c) => c.textContent).join('|')).join('\\n')"
	finished = "document.querySelector('#progress').value == 1 && document.querySelector('#stop').disabled"
	status   = "document.querySelector('#status').textContent"
	complain = "document.querySelector('#notice').textContent"
)

// to opens the page with a form that is filled in by its address.
func (b *browser) to(s *site, settings string) {
	b.t.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url+settings))
}

func TestThePlayground(t *testing.T) {
	b := opened(t)
	s := served(t, plain)
	end := b.strict(s.url)
	b.look(1280, "light")
	b.to(s, "")
	b.until("document.querySelectorAll('#rows tr').length == 7")
	b.until("document.querySelector('#progress').value > 0.1") // the curves grow
	assert.Less(t, b.number("document.querySelector('#progress').value"), 1.0)
	assert.Equal(t, "Running 6 controllers", b.text(status))
	b.until("document.querySelectorAll('#charts canvas').length == 6")
	b.picture("playground-running")
	b.until("(document.querySelector('#speed').value = '0') == '0'")
	b.until(finished)
	assert.Equal(t, "The time is up, and calls are left", b.text(status))
	assert.Equal(t, table(t, asShipped()), b.text(rows), "what runs in the browser is what runs here")
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(width, scheme)
			b.until(fmt.Sprintf("document.querySelector('#charts canvas').clientWidth <= %d", width))
			assert.LessOrEqual(t, b.number("document.documentElement.scrollWidth"), float64(width), "nothing is cut off at %d pixels", width)
			assert.Zero(t, b.number("[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).length"), "the table fits %d pixels", width)
			b.picture(fmt.Sprintf("playground-%d-%s", width, scheme))
		}
	}
	b.until(`(() => {
		const all = document.querySelectorAll("#charts .u-over")[2], box = all.getBoundingClientRect();
		for (const type of ["mouseenter", "mousemove"]) {
			all.dispatchEvent(new MouseEvent(type, { clientX: box.left + box.width / 2, clientY: box.top + 9, bubbles: true }));
		}
		return [...document.querySelectorAll(".figures")].filter((e) => /^At (4:5|5:0)[0-9]: /.test(e.textContent)).length == 6;
	})()`) // they share the cursor
	end()
	assert.Equal(t, []string{
		"/", "/chart.js", "/form.js", "/page.js", "/simulator.js", "/simulator.wasm.gz", "/style.css",
		"/uplot.css", "/uplot.js", "/wasm_exec.js", "/worker.js",
	}, s.paths())
}

// Every kind of provider, in the address and in the fields that the form shows.
func TestPlaygroundProviders(t *testing.T) {
	b := opened(t)
	s := served(t, plain)
	end := b.strict(s.url)
	for settings, c := range map[string]struct {
		change func(*playground.Request)
		fields string
	}{
		"#kind=steady&rate=120&burst=3&calls=300&reports=nothing&seed=9": {func(r *playground.Request) {
			r.Provider.Kind, r.Provider.Rate, r.Provider.Burst, r.Provider.Reports, r.Seed, r.Traffic.Calls = playground.SteadyRate, 120, 3, playground.Nothing, 9, 300
		}, "rate burst"},
		"#kind=doubles&change=1.5&controllers=vegas+headrace": {func(r *playground.Request) {
			r.Provider.Kind, r.Provider.Change, r.Controllers = playground.RateDoubles, 1.5, []string{"headrace", "vegas"}
		}, "rate burst change"},
		"#kind=cap&cap=12&seconds=0.5&atOnce=40": {func(r *playground.Request) {
			r.Provider.Kind, r.Provider.Cap, r.Traffic.Seconds, r.Traffic.AtOnce = playground.CallsInFlight, 12, 0.5, 40
		}, "cap"},
		"#kind=minute&reports=headers&minutes=3&calls=200000": {func(r *playground.Request) {
			r.Provider.Kind, r.Provider.Reports, r.Minutes, r.Traffic.Calls = playground.FixedMinute, playground.Headers, 3, 200_000
		}, "rate"},
	} {
		want := asShipped()
		c.change(&want)
		b.to(s, settings+"&speed=0")
		b.until(finished)
		assert.Equal(t, table(t, want), b.text(rows), settings)
		assert.Equal(t, c.fields, b.text("[...document.querySelectorAll('[data-kinds] input')].filter((e) => e.offsetParent).map((e) => e.id).join(' ')"), settings)
		if want.Minutes == 3 {
			assert.Equal(t, "The time is up, and calls are left", b.text(status))
		}
		assert.Contains(t, b.text("location.hash"), "kind="+string(want.Provider.Kind), "the address can be passed on")
	}
	want := asShipped()
	want.Provider.Kind, want.Traffic.Calls = playground.SteadyRate, 40
	b.to(s, "#speed=0&calls=40")
	b.until(finished)
	b.until("(location.hash = 'kind=steady&calls=40&rate=nonsense&kinds=x') != ''")
	b.until(finished + " && " + rows + fmt.Sprintf(" == %q", table(t, want))) // a changed address is played too
	end()
}

// The form by keyboard: problems in words, stop, and a run again.
func TestPlaygroundByKeyboard(t *testing.T) {
	b := opened(t)
	s := served(t, plain)
	end := b.strict(s.url)
	b.look(390, "light")
	b.to(s, "#speed=20&minutes=120&calls=200000")
	b.until("document.querySelector('#progress').value > 0")
	b.tab("document.activeElement.id == 'stop'")
	assert.NotEqual(t, "none", b.text("getComputedStyle(document.activeElement).outlineStyle"), "the focus is visible")
	b.keys(kb.Enter)
	b.until(status + " == 'Stopped' && document.activeElement.id == 'run'")
	b.until("document.querySelectorAll('#charts canvas').length == 6") // what was drawn stays

	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url+"#speed=0&calls=50&controllers=aimd"))
	b.until(finished)
	b.tab("document.activeElement.id == 'calls'")
	b.keys(kb.Backspace + kb.Enter)
	b.until("document.activeElement.id == 'calls' && document.querySelector('#calls-problem')?.textContent == 'Number of calls must be a number.'")
	b.until(complain + " == 'The run was not started: one field needs a change.'")
	b.keys("0.5" + kb.Enter)
	b.until("document.querySelector('#calls-problem')?.textContent == 'Number of calls must be a whole number.'")
	b.keys("a", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	b.keys("0" + kb.Enter)
	b.until("document.querySelector('#calls-problem')?.textContent == 'Number of calls must be between 1 and 200,000.'")
	assert.Equal(t, "true", b.text("document.querySelector('#calls').getAttribute('aria-invalid')"))
	b.picture("playground-problem")
	b.tab("document.activeElement.value == 'aimd'")
	b.keys(" " + kb.Enter)
	b.until("document.querySelector('#controllers-problem')?.textContent == 'Controllers are missing: choose at least one.'")
	b.until(complain + " == 'The run was not started: 2 fields need a change.' && document.activeElement.id == 'calls'")
	b.keys("a", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	b.keys("70")
	b.tab("document.activeElement.value == 'nall'")
	b.keys(" " + kb.Enter)
	want := asShipped()
	want.Traffic.Calls, want.Controllers = 70, []string{"nall"}
	b.until(rows + ".includes('|70|')")
	assert.Equal(t, table(t, want), b.text(rows))
	b.until("document.querySelector('#notice').hidden && document.querySelectorAll('.problem, [aria-invalid]').length == 0")

	b.tab("document.activeElement.id == 'another'")
	b.keys(kb.Enter)
	b.until("document.querySelector('#seed').value != '1' && " + finished + " && location.hash.includes('seed=' + document.querySelector('#seed').value)")
	end()
}

// Hosts differ in what they do with a compressed file, and may not have it.
func TestPlaygroundHosts(t *testing.T) {
	b := opened(t)
	decompressed := served(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".gz") {
				w.Header().Set("Content-Encoding", "gzip")
			}
			h.ServeHTTP(w, r)
		})
	})
	end := b.strict(decompressed.url)
	b.to(decompressed, "#speed=0")
	b.until(finished)
	assert.Equal(t, table(t, asShipped()), b.text(rows))
	end()

	missing := served(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".gz") {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	b.to(missing, "")
	b.until(complain + " == 'simulator.wasm.gz is missing here. It is built by make playground.'")
	b.until("!document.querySelector('#notice').hidden && " + status + " == 'The simulator could not be loaded'")
	b.picture("playground-missing")

	broken := served(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/worker.js" {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	b.to(broken, "")
	b.until(complain + ".includes('worker.js could not be loaded')")
}

// Opened as a file, the page says what it needs, and where motion is not wanted it does not play.
func TestPlaygroundInOtherPlaces(t *testing.T) {
	b := opened(t)
	dir, err := ground()
	require.NoError(t, err)
	b.do(chromedp.Navigate("file://" + dir + "/index.html"))
	b.until("getComputedStyle(document.querySelector('#start')).visibility == 'visible' && document.querySelector('#start').innerText.includes('make playground')")
	b.picture("playground-file")

	s := served(t, plain)
	end := b.strict(s.url)
	b.do(func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return none, err
	})
	b.to(s, "")
	b.until(finished)
	assert.Equal(t, "0", b.text("document.querySelector('#speed').value"))
	assert.Zero(t, b.number("document.querySelectorAll('#start').length"))
	end()
}

// The page names no other host.
func TestPlaygroundIsOfOneOrigin(t *testing.T) {
	files, err := filepath.Glob("../../docs/playground/*.*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if name := filepath.Base(file); strings.HasPrefix(name, "uplot") || strings.HasPrefix(name, "go.") || strings.HasSuffix(name, ".gz") || name == "wasm_exec.js" {
			continue // made by make playground
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(data), "http://www.w3.org/2000/svg", "")
		assert.NotContains(t, text, "://", file)
	}
}
