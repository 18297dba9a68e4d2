package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/headrace/headrace/providertest"
)

// What a run has to reach.
const (
	mostRefused  = 0.015 // of all arrivals
	leastGoodput = 0.95  // of what the limit allowed
	// judged is the part of the jobs after which nothing is judged: the last ones are those of
	// killed workers, which River rescues only after a while.
	judged = 0.98
)

// verdict is what a run has come to.
type verdict struct {
	*settings

	began, halved time.Time
	took          time.Duration
	kills         int
}

// judge prints what the provider and the database have, and fails if that is not enough.
func (v *verdict) judge(ctx context.Context, out io.Writer, pool *pgxpool.Pool, l providertest.Ledger) error {
	var rows, right, numbers, snoozed int
	err := pool.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE answer = 'Question number ' || number), count(DISTINCT number) FROM answers`).
		Scan(&rows, &right, &numbers)
	if err == nil {
		err = pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE queue = $1 AND metadata ? 'snoozes'`, queue).Scan(&snoozed)
	}
	if err != nil {
		return err
	}
	goodput, judgedFor := v.goodput(l)
	refused := float64(l.Refused) / float64(max(l.Arrivals, 1))
	audit := l.Audit(func(yield func(string) bool) {
		for i := range v.jobs {
			if !yield(strconv.Itoa(i)) {
				return
			}
		}
	})
	fmt.Fprintf(out, "%.0f s, %d workers killed, %d jobs snoozed\n", v.took.Seconds(), v.kills, snoozed)
	fmt.Fprintf(out, "results: %d, %d of them right, for %d of %d jobs\n", rows, right, numbers, v.jobs)
	fmt.Fprintf(out, "provider's ledger: %d arrivals, %d served, %d lost, %d served more than once because their worker was killed\n",
		l.Arrivals, l.Served, len(audit.Lost), len(audit.Twice))
	fmt.Fprintf(out, "429s: %d (%.2f %%)\n", l.Refused, 100*refused)
	fmt.Fprintf(out, "%.1f %% of what the limit allowed in the %.0f s after the first %s, until %.0f %% of the jobs were served\n",
		100*goodput, judgedFor.Seconds(), v.warm, 100*judged)
	switch {
	case rows != v.jobs || right != v.jobs || numbers != v.jobs || len(audit.Lost) > 0:
		return errors.New("results are missing, wrong or there twice")
	case refused > mostRefused:
		return errors.New("too many 429s")
	case goodput < leastGoodput:
		return errors.New("too slow")
	}
	return nil
}

// goodput is the part of the allowed requests that was sent and admitted, from the end of the warm
// time to the arrival with which judged of all jobs had been served.
func (v *verdict) goodput(l providertest.Ledger) (part float64, lasted time.Duration) {
	first, served, admitted := v.began.Add(v.warm), map[string]bool{}, 0
	var last time.Time
	for a := range l.All() {
		if a.Served() {
			served[a.Key] = true
		}
		if a.Admitted && a.At.After(first) {
			admitted++
		}
		if last = a.At; len(served) >= int(judged*float64(v.jobs)) {
			break
		}
	}
	before := max(min(last.Sub(first), v.halved.Sub(first)), 0)
	allowed := float64(v.rate)*before.Seconds() + float64(v.rate)/2*(last.Sub(first)-before).Seconds()
	if allowed <= 0 {
		return 0, 0
	}
	return float64(admitted) / allowed, last.Sub(first)
}
