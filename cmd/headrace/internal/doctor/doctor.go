package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/presets"
)

// Options selects what to examine.
type Options struct {
	Config  string   // a file, or limits as text; may be empty
	Share   string   // the address of a store or a group; may be empty
	Presets []string // presets given to commands

	Page    string                                           // the address of a program's dashboard; may be empty
	Given   bool                                             // Page was given by the user, and is not the default address
	Ask     func(context.Context) (*dashboard.Status, error) // the HTTP client for Page
	Service string                                           // the address of headrace serve; may be empty
	Token   string                                           // of the service
	Getenv  func(string) string
	Wait    time.Duration // bounds the wait for each store, group and program
	Keys    int           // number of keys to report for each store, those nearest to their limits
	Prefix  string        // only keys with this prefix
}

// Report is what the doctor found. Its JSON form is part of the command line.
type Report struct {
	Time          time.Time      `json:"time"`
	Healthy       bool           `json:"healthy"` // whether there are only notes
	Findings      []Finding      `json:"findings"`
	Configuration *Configuration `json:"configuration,omitempty"`
	Stores        []*Store       `json:"stores"`
	Groups        []*Group       `json:"groups"`
	Presets       []Preset       `json:"presets,omitempty"` // of Options.Presets
	Program       *Program       `json:"program,omitempty"`
	Service       *Service       `json:"service,omitempty"`
	Environment   []Variable     `json:"environment"`
	Unseen        []string       `json:"unseen"` // what cannot be found out from here
}

// examination is one run of the doctor.
type examination struct {
	Options
	*Report

	secrets []string
}

// Examine examines everything selected by o. The error is a *settings.Error, or that of ctx.
func Examine(ctx context.Context, o Options) (*Report, error) {
	x := &examination{Options: o, Report: &Report{
		Time: time.Now(), Findings: []Finding{}, Stores: []*Store{}, Groups: []*Group{}, Environment: []Variable{}, Unseen: []string{},
	}}
	places, err := x.configuration()
	if err != nil {
		return nil, err
	}
	if o.Share != "" {
		if err := x.checkShare(); err != nil {
			return nil, err
		}
		places.add(o.Share, nil)
	}
	x.presets()
	for _, at := range places.list {
		if isGroup(at.address) {
			x.group(ctx, at.address)
		} else {
			x.store(ctx, at)
		}
	}
	x.asksService(ctx)
	x.program(ctx)
	x.environment(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	x.finish()
	return x.Report, nil
}

// Preset is an examined preset.
type Preset struct {
	ID   string `json:"id"`
	Date string `json:"date"` // of its numbers
}

// checkShare validates the address itself.
func (x *examination) checkShare() error {
	scheme, rest, ok := strings.Cut(x.Share, ":")
	if !ok || !settings.Shares(scheme) || rest == "" {
		return &settings.Error{Flag: "--share", Problem: fmt.Sprintf("%q is not an address: use %s", settings.WithoutPassword(x.Share), settings.Addresses)}
	}
	return nil
}

// presets examines the presets of --preset.
func (x *examination) presets() {
	for _, id := range x.Options.Presets {
		row, err := presets.Lookup(id)
		if err != nil {
			x.add(Problem, ConfigInvalid, "--preset", "", "%s", settings.Plain(err))
			continue
		}
		x.Report.Presets = append(x.Report.Presets, Preset{string(row.ID), row.Date()})
		x.stale(&row, "--preset")
	}
}

// finish sorts the findings, and removes passwords from messages of stores and of the system.
func (x *examination) finish() {
	order := []Severity{Problem, Warning, Note}
	slices.SortStableFunc(x.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	for i := range x.Findings {
		f := &x.Findings[i]
		f.Where, f.Problem, f.Remedy = x.clean(f.Where), x.clean(f.Problem), x.clean(f.Remedy)
	}
	x.Healthy = x.healthy()
}

// secret records the password of an address.
func (x *examination) secret(address string) {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return
	}
	if password, set := u.User.Password(); set && password != "" {
		x.secrets = append(x.secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
}

func (x *examination) clean(text string) string {
	for _, s := range x.secrets {
		if len(s) >= longSecret {
			text = strings.ReplaceAll(text, s, "xxxxx")
		} else {
			text = withoutWord(text, s)
		}
	}
	return text
}

// longSecret is the length from which a password is unlikely to be part of other words by chance, in bytes.
const longSecret = 8

// withoutWord removes a word from text, but not where it is part of a longer word: a short password could be guessed from the
// incomplete words.
func withoutWord(text, word string) string {
	first, _ := utf8.DecodeRuneInString(word)
	end, _ := utf8.DecodeLastRuneInString(word)
	var b strings.Builder
	last, rest := ' ', text
	for {
		before, after, found := strings.Cut(rest, word)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if before != "" {
			last, _ = utf8.DecodeLastRuneInString(before)
		}
		next, _ := utf8.DecodeRuneInString(after)
		if wordy(last) && wordy(first) || wordy(end) && wordy(next) {
			b.WriteString(word)
		} else {
			b.WriteString("xxxxx")
		}
		last, rest = end, after
	}
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// slowError is the cause if an examination took longer than Options.Wait.
type slowError struct{ wait time.Duration }

// Error names the bound.
func (e *slowError) Error() string { return fmt.Sprintf("no answer within %s", e.wait) }

// bounded calls f, and returns early if ctx ends, because a store or a file system may ignore ctx.
func bounded[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	type end struct {
		v   T
		err error
	}
	done := make(chan end, 1)
	go func() {
		v, err := f(ctx)
		done <- end{v, err}
	}()
	select {
	case e := <-done:
		if e.err != nil && ctx.Err() != nil { // what f makes of that may name another bound
			e.err = context.Cause(ctx)
		}
		return e.v, e.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// within returns a context that ends after Options.Wait.
func (x *examination) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, x.Wait, &slowError{x.Wait})
}
