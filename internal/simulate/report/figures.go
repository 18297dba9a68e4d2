package report

import "github.com/headrace/headrace/internal/simulate/client"

// Figures is what a contender got in a scenario.
type Figures struct {
	Goodput     float64 // admitted calls, percent of the oracle's
	Refused     float64 // percent of the attempts
	Own         float64 // of these, without those that no limit called for
	Jain        float64 // fairness between the processes: 1 is even, 1/n is all to one
	Cold        float64 // Goodput of the cold start
	ColdRefused float64
	First       float64 // Goodput of the first minute

	FirstRefused float64
	Slower       float64 // time beside the oracle's, of a job that ends
	Speed        float64 // the time from an item's arrival to its answer with the oracle, in percent of that here
	Whole        float64 // Refused of the whole run, cold start and all
}

// total sums up the processes of a run.
func total(results []client.Result) (sum client.Result) {
	for _, r := range results {
		sum.First.Add(r.First)
		sum.Cold.Add(r.Cold)
		sum.Measured.Add(r.Measured)
		sum.Waiting += r.Waiting
	}
	return sum
}

// figures compares a run with the oracle's.
func figures(run, oracle []client.Result) Figures {
	got, best := total(run), total(oracle)
	return Figures{
		Goodput:     percent(got.Measured.Admitted, best.Measured.Admitted),
		Refused:     percent(got.Measured.Refused, got.Measured.Attempts),
		Own:         percent(got.Measured.Refused-got.Measured.Unlucky, got.Measured.Attempts),
		Jain:        jain(run),
		Cold:        percent(got.Cold.Admitted, best.Cold.Admitted),
		ColdRefused: percent(got.Cold.Refused, got.Cold.Attempts),
		First:       percent(got.First.Admitted, best.First.Admitted),

		FirstRefused: percent(got.First.Refused, got.First.Attempts),
		Slower:       slower(run, oracle),
		Speed:        speed(best.Waiting, got.Waiting),
		Whole:        percent(got.Cold.Refused+got.Measured.Refused, got.Cold.Attempts+got.Measured.Attempts),
	}
}

// speed is the time that items take with the oracle, in percent of that with a contender; 0 if they do not come in bursts.
func speed(oracle, run float64) float64 {
	if run == 0 {
		return 0
	}
	return 100 * oracle / run
}

func percent(of, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(of) / float64(whole)
}

// jain is Jain's index of what was admitted (Jain, Chiu, Hawe, 1984).
func jain(run []client.Result) float64 {
	var sum, squares float64
	for _, r := range run {
		x := float64(r.Measured.Admitted)
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(run)) * squares)
}

// mean is the mean of each figure.
func mean(all []Figures) (m Figures) {
	n := float64(len(all))
	for _, f := range all {
		m.Goodput += f.Goodput / n
		m.Refused += f.Refused / n
		m.Own += f.Own / n
		m.Jain += f.Jain / n
		m.Cold += f.Cold / n
		m.ColdRefused += f.ColdRefused / n
		m.First += f.First / n
		m.FirstRefused += f.FirstRefused / n
		m.Slower += f.Slower / n
		m.Speed += f.Speed / n
		m.Whole += f.Whole / n
	}
	return m
}
