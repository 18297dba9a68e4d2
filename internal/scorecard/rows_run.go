package main

// runRows are those of whole packages.
func runRows() []row {
	return []row{
		{
			id: 14, what: "no goroutine is left, no data race, in any order of the tests",
			runs: []run{
				{
					packages: "{./throttle ./quota ./guard ./executor ./node ./internal/line|work}",
					flags:    "-race -shuffle=on", claims: "tests>={1000|3000}", whole: true,
				},
			},
			unproven: "on every change these are the six packages with most goroutines, before a release all. Counts of allocations and other tests that do not " +
				"suit the race detector are skipped. The soak of 24 h is a command of its own, `make soak HOURS=24`.",
		},
		{
			id: 22, what: "engines: restarts, deployments, replays of recorded histories",
			servers: true,
			runs: []run{
				{packages: "./engine/river ./examples/river", tests: "PostgreSQL|NoResult", flags: "-postgres", claims: "tests>=3"},
				{packages: "./engine/temporal ./examples/temporal", tests: "Server|Replay", flags: "-server", claims: "tests>=6"},
			},
			unproven: "10 kills and 100 histories, which are the targets: workers of River are killed every 2 s of a short run, those of Temporal are " +
				"not, and 20 recorded histories are replayed. No server is restarted during a run.",
		},
	}
}
