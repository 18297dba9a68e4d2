// Package browsertests opens two pages in headless Chromium: that of package dashboard, and docs/playground, which it
// builds first. It is a module of its own because of what drives the browser. Its tests skip where no Chromium is installed.
//
// The go command does not see that docs/playground is read: after a change there the tests need -count=1.
package browsertests
