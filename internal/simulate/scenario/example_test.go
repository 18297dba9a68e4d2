package scenario_test

import (
	"fmt"

	"github.com/headrace/headrace/internal/simulate/scenario"
)

func ExampleTwelve() {
	s := scenario.Twelve()[10]
	fmt.Printf("%s: %s\n", s.Name, s.About)
	// Output: 4 share cap: four processes share a cap of 20
}

func ExampleRandom() {
	s := scenario.Random(68)
	fmt.Printf("%s: %s\n", s.Name, s.About)
	// Output: #68: rpm 0.73/s burst 14 x2 Retry-After absent, latency 0.6 s, refusal 0.35 s, net 69 ms, 2 processes
}

func ExampleRecovery() {
	s := scenario.Recovery(11)
	fmt.Printf("%s: %s\n", s.Name, s.About)
	// Output: r11: cap 11 that moves beside 8.2/s b26, Retry-After whole, latency 0.2 s, then 600 in each minute, Retry-After whole
}

func ExampleSparse() {
	s := scenario.Sparse(11)
	fmt.Printf("%s: %s\n", s.Name, s.About)
	// Output: s11: an item each 30 s, then all, cap 11 that moves beside 8.2/s b26, Retry-After whole, latency 0.2 s
}

func ExampleBursts() {
	s := scenario.Bursts(130)
	fmt.Printf("%s: %s\n", s.Name, s.About)
	// Output: b130: 120 items each 37 s, tpm 6.51/s burst 27 x1 Retry-After whole, latency 4.9 s, refusal 0.09 s, net 10 ms, 1 processes
}

func ExampleMoving() {
	s := scenario.Moving(68)
	fmt.Printf("%s: %s\n", s.Name, s.About)
	// Output: m68: another limit each 105 s, rpm 0.73/s burst 14 Retry-After absent, latency 0.6 s, refusal 0.35 s, net 69 ms, 2 processes
}
