package main

// runRows are those of whole packages.
func runRows() []row {
	return []row{
		{
			id: 14, what: "no goroutine is left, no data race, in any order of the tests",
			runs: []run{
				{
					packages: "{./throttle ./quota ./guard ./executor ./node ./internal/line|work}",
					flags:    "-race -shuffle=on", claims: "tests>={500|3000}",
				},
			},
			unproven: "on every change these are the packages with most goroutines, before a release all. A soak of 24 h is `make soak HOURS=24`.",
		},
		{
			id: 22, what: "engines: restarts, deployments, replays of recorded histories",
			servers: true,
			runs: []run{
				{packages: "./engine/river ./examples/river", tests: "PostgreSQL|NoResult", flags: "-postgres", claims: "tests>=3"},
				{packages: "./engine/temporal ./examples/temporal", tests: "Server|Replay", flags: "-server", claims: "tests>=6"},
			},
			unproven: "kill -9 of workers, and restarts of a server in the middle of a run.",
		},
	}
}
