package main

// storeRows are those of what outlives a process or is shared between processes.
func storeRows() []row {
	return []row{
		{
			id: 5, what: "kill -9 in mid-batch; the provider's ledger is the oracle",
			apart: []string{"providertest: node flow journal store/sqlitestore"},
			runs: []run{
				{
					packages: "./examples/resume", tests: "^TestKilledAgainAndAgain$", flags: "-kills {10|25} -texts {240|2000}", seeds: "{1|20}",
					claims: "kills>={10|500} lost=0 duplicates=0 beyond_in_flight=0",
				},
				{
					packages: "./cmd/headrace", tests: "^TestKilledAgainAndAgain$", flags: "-kills 10 -lines {300|20000}",
					claims: "kills>=10 lost=0 duplicates=0",
				},
				{packages: "./cmd/headrace", tests: "^TestKilled(WhileTryingAgain|InOrder|BeforeItsFirstRecord)$", claims: "tests=3"},
			},
			mutants: []mutant{
				{
					name: "the journal acknowledges a record before it is committed", file: "store/sqlitestore/writer.go",
					old: "\t\t\tif err := j.do(&w.tx); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t}\n\t\treturn nil\n",
					new: "\t\t\tif err := j.do(&w.tx); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t\tj.err <- nil\n\t\t}\n\t\tpause(100 * time.Millisecond)\n\t\treturn nil\n",
					run: run{packages: "./examples/resume", tests: "^TestKilledAgainAndAgain$"}, by: "does not contain|should not contain|it was to hang",
				},
				{
					name: "a line of output is written before its record", file: "node/commit.go",
					old: "\t\tc.record(c.group)\n\t\tc.write(c.group)\n",
					new: "\t\tfor i := range c.group {\n\t\t\tc.group[i].entry.recorded = true\n\t\t}\n\t\tc.write(c.group)\n" +
						"\t\tfor i := range c.group {\n\t\t\tc.group[i].entry.recorded = false\n\t\t}\n\t\tc.record(c.group)\n",
					run: run{packages: "./examples/resume", tests: "^TestKilledAgainAndAgain$"}, by: "does not contain|should not contain",
				},
			},
			unproven: "a kill leaves what the system has in its cache: a loss of power is not played, the journal syncs before it acknowledges.",
		},
		{
			id: 6, what: "Redis: latency, black hole, reset, SIGSTOP, kill, FLUSHALL under load (toxiproxy in process)",
			apart: []string{"internal/oracle: store/redisstore quota"},
			runs: []run{{
				packages: "./store/redisstore/faulttests", flags: "-rounds {2|20} -lasts {300ms|3s} -storms {40|1000}",
				claims: "tests>=7 faults>={24|240} calls>={5000|50000} late_ms<={2000|100}",
			}, {packages: "./store/redisstore", tests: "^Test(ManyProcessesShareLimits|Cluster)$", flags: "-running {3s|60s} -moves {1|10}", claims: "tests=2"}},
			mutants: []mutant{
				{
					name: "a window in Redis counts nine units of ten", file: "store/redisstore/script.lua",
					old: "  w[7] = w[7] + units\n  if n > 0", new: "  w[7] = w[7] + 0.9*units\n  if n > 0",
					run: run{packages: "./store/redisstore/faulttests", tests: "^TestRedisFailsUnderLoad$/^stopped$", flags: "-rounds 1"}, by: ", allowed ",
				},
				{
					name: "Redis counts half of the slots that are taken", file: "store/redisstore/script.lua",
					old: "return k.used\n", new: "return floor(k.used / 2)\n",
					run: run{packages: "./store/redisstore/faulttests", tests: "^TestFaultsOfTheNetwork$/^latency$", flags: "-rounds 1"}, by: ", allowed ",
				},
			},
			unproven: "a caller's error may come 2 s after its deadline; only a release, on an idle machine, requires 100 ms. Recovery after a fault is " +
				"required within 30 s, where the target is 2 s.",
		},
		{
			id: 8, what: "SQLite: 8 processes and kills on one file",
			runs: []run{
				{packages: "./store/sqlitestore", tests: "^TestManyProcessesShareAFile$", flags: "-items {375|12500}", claims: "processes=8 items>={3000|100000} lost=0"},
				{packages: "./store/sqlitestore", tests: "^TestWhatWasFinishedOutlivesAKill$", claims: "kills=10"},
				{packages: "./store/sqlitestore", tests: "^TestEightProcessesShareLimits$", flags: "-calls {3000|100000}", claims: "tests=1"},
				{packages: "./store/sqlitestore", tests: "^TestManyOpenANewFileAtOnce$", flags: "-first-opens {20|300}", claims: "tests=1"},
			},
		},
		{
			id: 12, what: "hot reload: truncated, invalid, deleted, swapped by a link, flips under load",
			runs: []run{
				{packages: "./service", tests: "^TestReloadsUnderLoad$", flags: "-flips {1000|10000}", claims: "flips>={1000|10000} dropped=0"},
				{
					packages: "./service ./service/internal/envoy",
					tests:    "^Test(Reload|ABrokenFileKeepsTheLimits|TheFileIsWatched|AFileThatIsBeingWritten|EnvoysFilesAreWatched|TokensAreReadEveryMinute|ReloadUnderLoad)$",
					claims:   "tests=8",
				},
				{packages: "./registry ./service/internal/decide", tests: "^Test(ReplaceUnderLoadDropsNobody|ReloadsGiveNoBurst)$", claims: "tests=2"},
			},
		},
		{
			id: 17, what: "two, three and five runs at once on one journal and one output, kills among them",
			runs: []run{
				{
					packages: "./examples/resume", tests: "^TestStartedTwiceAtOnce$", flags: "-rounds {10|300}",
					claims: "rounds>={10|300} kills>={4|120} missing=0 twice=0 broken=0",
				},
				{packages: "./cmd/headrace", tests: "^TestTwoProcessesOn(OneJournal|OneFile)$", claims: "tests=2"},
			},
		},
		{
			id: 20, what: "group: kill -9 and SIGSTOP of leaders and members, elections, fencing",
			apart: []string{"providertest: group guard internal/learn"},
			runs: []run{
				{
					packages: "./group", tests: "^TestProcesses(OfAService)?$", flags: "-for {12s|17m} -kill {1s|5s}", claims: "kills>={20|1000} failures=0",
				},
				{packages: "./group", tests: "^TestThe(LeaderIsReplaced|LeadingReplicaIsReplaced)$", claims: "tests=2"},
				{
					packages: "./group", tests: "Election|Lease|Term|Stale|NoCallIsAdmitted|SideThatDoesNotRead|MemberThatSaysNothing|Strangers",
					claims: "tests>=9",
				},
			},
			unproven: "a second to fail over holds for a group on one host; another replica of a service leads within 3.5 s.",
		},
	}
}
