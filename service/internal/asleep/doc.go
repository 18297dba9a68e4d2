// Package asleep returns for how long the machine was suspended. Monotonic clocks stand still then, and others go on.
package asleep
