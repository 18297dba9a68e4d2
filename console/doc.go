// Package console shows on a terminal how far a run has come.
//
//	d, err := console.New(console.Config{})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	report, err := flow.Run(ctx, f, state, d.Watch())
//
// Without a flow the events do all of it:
//
//	vectors, err := embed.All(event.With(ctx, d), texts)
//
// Whoever has snapshots of their own, such as a queue, calls [Display.Show].
//
// On a terminal a few lines are redrawn in place ([TTY]). In a pipe, under CI
// and on a dumb terminal there is a line from time to time ([Plain]). [JSON] is a
// line for each snapshot, and [Off] shows nothing. [Auto] decides; see [Mode].
//
// It writes to what it was given and nowhere else. A display that cannot be written
// stops, and the work goes on. The terminal is never in a state that would have to be
// restored: the cursor is hidden only within one write, and stands below the display
// between two. So nothing is left behind by a panic or a kill either.
package console
