package browsertests_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/dashboard"
)

func TestThePageShowsWhatHappens(t *testing.T) {
	b := opened(t)
	s := played(t, "127.0.0.1:0", dashboard.Config{Title: "an example", Clients: clients})
	end := b.strict(s.url)
	b.look(1280, "light")
	b.do(chromedp.Navigate(s.url))
	b.until("document.querySelector('#empty').innerText.includes('No calls yet')")
	b.picture("empty-1280-light")

	stop := s.load(t)
	defer stop()
	openai := card("api.openai.com#key1")
	b.until(openai + "?.querySelector('.facts').textContent.includes('admitted')")
	b.until(card("embeddings") + ".querySelector('.why').textContent.startsWith('Held back by')")
	b.until(card("embeddings") + ".querySelector('.state').textContent == 'waiting'")
	b.until(card("nightly") + ".querySelector('.state').textContent == 'paused'")
	b.until(card("images") + ".querySelector('.why').textContent.includes('the monthly budget is used up')")
	before := b.number(openai + ".querySelector('.facts').textContent.split(' ')[0].replace(',', '') * 1")
	b.until(fmt.Sprintf("%s.querySelector('.facts').textContent.split(' ')[0].replace(',', '') > %g", openai, before))
	b.until(openai + ".querySelectorAll('.chart canvas').length == 2") // calls, and waits
	b.until(openai + ".querySelector('.wait dd').textContent != '0 s'")
	b.until(card("nightly") + ".querySelector('.big').textContent.startsWith('0 /s until')")
	b.point(openai + ".querySelectorAll('.u-over')[1]") // at the waits: the plots share the cursor
	b.until(openai + ".querySelectorAll('.u-cursor-x:not(.u-off)').length == 2")
	b.until("document.querySelectorAll('#clients tbody tr').length == 3")
	b.until("document.querySelector('#clients tbody').textContent.includes('<b>ide</b>')") // as text
	b.until("document.querySelector('#events').innerText.includes('paused for')")
	b.until("document.querySelector('#connection').textContent == 'Live'")
	if *pictures != "" {
		time.Sleep(*after)
	}
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(width, scheme)
			b.until("document.readyState == 'complete'")
			b.until(fmt.Sprintf("document.documentElement.scrollWidth <= %d", width)) // once the charts have the new width
			if *pictures != "" {
				time.Sleep(time.Second)
			}
			b.picture(fmt.Sprintf("page-%d-%s", width, scheme))
		}
	}
	end()
}

// blocked are keys of a service. One has nowhere to break, and is almost as long as an identifier may be.
func blocked() []dashboard.Key {
	return []dashboard.Key{
		{Name: "user/carol.henderson-whitfield@example.com/v1/chat/completions", Refused: 1_204_377},
		{Name: "org/7/search", Refused: 8_012},
		{Name: "user/" + strings.Repeat("é", 500) + "/export", Refused: 311},
		{Name: "key/sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08/embeddings", Refused: 12},
		{Name: "user/<b>bob</b>/search", Refused: 1},
	}
}

// A page of keys, as headrace serve has it: every name can be read in full, and the page is not wider than the screen.
func TestThePageShowsKeys(t *testing.T) {
	b := opened(t)
	var none atomic.Bool
	none.Store(true)
	s := played(t, "127.0.0.1:0", dashboard.Config{Title: "headrace serve limits.yaml", Keys: func() []dashboard.Key {
		if none.Load() {
			return []dashboard.Key{}
		}
		return blocked()
	}})
	end := b.strict(s.url)
	b.look(1280, "light")
	b.do(chromedp.Navigate(s.url))
	b.until("document.querySelector('#keys').innerText.includes('No call was refused yet')")
	b.until("document.querySelector('#empty').hidden && document.querySelector('#timeline').hidden")
	b.picture("keys-none")
	none.Store(false)
	b.until("document.querySelectorAll('#keys tbody tr').length == 5")
	b.until("document.querySelector('#keys tbody').textContent.includes('<b>bob</b>')") // as text
	b.until("document.querySelector('#keys tbody td.number').textContent == '1,204,377'")
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(width, scheme)
			b.until("document.readyState == 'complete'")
			b.picture(fmt.Sprintf("keys-%d-%s", width, scheme))
			b.until(fmt.Sprintf("document.documentElement.scrollWidth <= %d", width)) // once the charts have the new width
			assert.Zero(t, b.number("[...document.querySelectorAll('#keys td, #blocked')].filter((e) => e.scrollWidth > e.clientWidth).length"), "all can be read at %d pixels", width)
		}
	}
	end()
}

// Every action is possible with the keyboard alone, in the order of the page.
func TestActionsByKeyboard(t *testing.T) {
	b := opened(t)
	s := played(t, "127.0.0.1:0", dashboard.Config{})
	b.look(1280, "light")
	end := b.strict(s.url)
	stop := s.load(t)
	defer stop()
	b.do(chromedp.Navigate(s.url))
	pause := "document.activeElement.getAttribute('aria-label') == 'Pause embeddings'"
	b.until(card("embeddings") + "?.querySelector('.actions').hidden == false")
	b.tab(pause)
	assert.NotEqual(t, "none", b.text("getComputedStyle(document.activeElement).outlineStyle"), "the focus is visible")
	end() // a wrong token is an error in the console too

	b.keys(kb.Enter)
	b.until("document.activeElement.id == 'ask-value' && document.querySelector('#ask-title').textContent == 'Unlock actions'")
	b.picture("token-1280-light")
	b.keys("wrong" + kb.Enter)
	b.until("document.querySelector('#ask-problem').textContent.includes('token is missing or wrong')")
	b.keys(kb.Escape)
	b.until("!document.querySelector('#ask').open && " + pause)

	b.keys(kb.Enter)
	b.until("document.querySelector('#ask').open && document.querySelector('#ask-title').textContent == 'Unlock actions'")
	b.keys(token + kb.Enter)
	b.until("document.querySelector('#ask-title').textContent == 'Pause embeddings'")
	b.keys("soon" + kb.Enter)
	b.until("document.querySelector('#ask-problem').textContent.includes('is not a duration')")
	b.keys("a", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	b.keys("2m" + kb.Enter)
	b.until(card("embeddings") + ".querySelector('.state').textContent == 'paused'")
	b.until(card("embeddings") + ".querySelector('.note').textContent.includes('What was learned is kept')")
	b.until("!document.querySelector('#ask').open")
	assert.False(t, s.registry.Get("embeddings").Stats().PausedUntil.IsZero())

	b.until("document.activeElement.getAttribute('aria-label') == 'Resume embeddings'") // Pause is hidden
	b.keys(kb.Enter)
	b.until(card("embeddings") + ".querySelector('.state').textContent != 'paused'")
	b.until(pause)

	b.tab("document.activeElement.getAttribute('aria-label') == 'Set limits embeddings'")
	b.keys(kb.Enter)
	b.until("document.querySelector('#ask-value').value == '4 concurrent'")
	b.keys("2/s" + kb.Enter) // it was selected
	b.until(card("embeddings") + ".querySelector('.facts').textContent.includes('limits 2/s')")
	b.until(card("embeddings") + ".querySelector('.big').textContent.startsWith('2.00 /s')")
	assert.Equal(t, "2/s", s.registry.Get("embeddings").Policy().Limits.String())

	b.until("!document.querySelector('#ask').open")
	b.tab("document.activeElement.id == 'drain'")
	b.keys(kb.Enter)
	b.until("document.querySelector('#ask-title').textContent == 'Drain'")
	b.tab("document.activeElement.id == 'ask-yes'")
	b.keys(kb.Enter)
	b.until("document.querySelector('#drain').disabled")
	assert.True(t, s.drained.Load())
}

// point moves the mouse to the left edge of an element.
func (b *browser) point(element string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(() => {
		const all = %s, box = all.getBoundingClientRect();
		for (const type of ["mouseenter", "mousemove"]) all.dispatchEvent(new MouseEvent(type, { clientX: box.left + 1, clientY: box.top + 9, bubbles: true }));
		return true;
	})()`, element))
}

// tab moves the focus on until an expression is true.
func (b *browser) tab(until string) {
	b.t.Helper()
	for range 60 {
		b.keys(kb.Tab)
		if b.number("("+until+") ? 1 : 0") == 1 {
			return
		}
	}
	b.t.Fatalf("no focus has %s, it is on %s", until, b.text("document.activeElement.outerHTML"))
}

func TestThePageSaysWhenTheProgramIsGone(t *testing.T) {
	b := opened(t)
	s := played(t, "127.0.0.1:0", dashboard.Config{})
	stop := s.load(t)
	b.look(390, "dark")
	b.do(chromedp.Navigate(s.url))
	b.until(card("embeddings") + " != null")
	stop()
	s.page.Close()
	b.until("document.querySelector('#notice').innerText.includes('The connection to the program was lost')")
	b.until("document.querySelector('#connection').textContent == 'Not connected'")
	b.picture("lost-390-dark")

	again := played(t, s.url[len("http://"):len(s.url)-1], dashboard.Config{})
	b.until("document.querySelector('#connection').textContent == 'Live' && document.querySelector('#notice').hidden")
	b.until("document.querySelector('#empty').hidden == false && " + card("embeddings") + " == null")
	_ = again
}

// docs/dashboard.png is a picture of this test.
func TestPictureOfARun(t *testing.T) {
	if *address == "" {
		t.Skip("no -url: there is no page to take a picture of")
	}
	b := opened(t)
	b.look(720, "light")
	b.do(chromedp.Navigate(*address))
	b.until("document.querySelector('.chart canvas') != null")
	time.Sleep(*after)
	b.picture("run")
}
