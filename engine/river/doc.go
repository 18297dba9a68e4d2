// Package riverguard guards jobs of River (github.com/riverqueue/river) with a
// guard.Guard, so that a queue runs as fast as a provider allows.
//
//	acme, err := guard.New(guard.Policy{Name: "acme"})
//	config := &river.Config{
//		Queues:  map[string]river.QueueConfig{"acme": {MaxWorkers: 50}},
//		Workers: workers,
//	}
//	err = riverguard.Queue[pgx.Tx](config, "acme", riverguard.Config{Guard: acme})
//	client, err := river.NewClient(riverpgxv5.New(pool), config)
//
// A job runs when the guard admits it. A job that the provider rejects with a
// 429 is snoozed, which is not an attempt, and the guard learns from it. During
// a long pause, or when the quota is used up, the queue is paused in the
// database for at most a minute at a time, by a job that resumes it.
//
// Processes share a limit by sharing the guard's: see packages group, quota and
// registry. The guide is docs/engines.md.
package riverguard
