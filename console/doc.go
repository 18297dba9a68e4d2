// Package console shows the progress of a run on a terminal.
//
//	d, err := console.New(console.Config{})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	report, err := flow.Run(ctx, f, state, d.Watch())
//
// Without a flow, events are enough:
//
//	vectors, err := embed.All(event.With(ctx, d), texts)
//
// If you have snapshots of your own, such as of a queue, call [Display.Show].
//
// A display that cannot be written stops, and the work continues. Nothing has to be
// restored after a panic or a kill. The output of each [Mode] and the variables that
// choose it are in docs/console.md.
package console
