package browsertests_test
import ("testing"; "github.com/chromedp/chromedp")
func TestX(t *testing.T) { _ = chromedp.Navigate("") }
