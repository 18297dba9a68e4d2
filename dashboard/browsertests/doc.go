// Package browsertests opens the page of package dashboard in headless Chromium. It is a module of its own because of
// what drives the browser. Its tests skip where no Chromium is installed.
package browsertests
