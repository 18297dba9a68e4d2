package learn

// Claim weighs whether refusals that do not say why are a cap on the calls in
// flight. A cap refuses at one level, which is hardly ever taken, and a cut to
// below it ends the refusals. A rate refuses at any level, goes on after the cut,
// and refuses most where calls crowd. Noise refuses even a call that is alone.
type Claim struct {
	sent     float64  // calls since it was made
	epochs   float64  // with a refusal
	level    float64  // where it was claimed
	at       float64  // when the call left that was refused then
	rate     float64  // that measurements agreed about before it, in calls per second; 0: none
	hits     float64  // refusals by then
	unhelped evidence // cuts that did not help
	lonely   float64  // calls for which a refusal with no other call in flight is remembered
	crowd    Crowd
	scatter  evidence // refusals that no cap explains: see weighScatter

	repeats Repeats
	shared  bool        // calls are taken at the level that refuses, too
	untaken bool        // none is
	counts  LevelCounts // taken since the last refusal before which there were enough to see whether the level is shared
	part    bool        // others press for the same limit

	namedUntil float64 // a refusal has named the cap lately: those that do not are about something else; 0: the last one did not

	off Rules
}

const (
	sharedShare = 0.1  // of the calls taken: if more are at the level of a cap or above, it is shared
	noisy       = 0.08 // of the calls: if more are rejected, it is not at random; beyond, random

	soonTrips = 2 // round trips after a cut in which it should have helped
)

const (
	sameLevel  = rare    // of a level or a rate: another one no further from it is the same
	newFor     = memory  // calls for which a claim is new
	lonelyFor  = recent  // calls for which a refusal with no other call in flight is remembered
	hoverAgain = handful // cuts that did not help, less those that did, of a bound that hovers: it is no cap
)

// Sent notes a call.
func (c *Claim) Sent(x Call) {
	c.sent++
	c.crowd.Sent(x)
	c.lonely = max(0, c.lonely-1)
}

// Taken notes that a call was taken that left with so many others in flight.
func (c *Claim) Taken(others int) {
	c.repeats.Taken(others)
	c.counts.Add(others)
}

// Refused notes the first refusal of an epoch, at a level of calls in flight.
func (c *Claim) Refused(level int, asks bool) {
	c.repeats.Refused(level, asks)
	taken, at := c.counts.Count(level)
	c.shared = c.part || taken >= several && at > sharedShare*taken
	c.untaken = taken >= recent && at == 0
	if taken >= recent || at > 0 {
		c.counts = LevelCounts{}
	}
}

// Begin claims a cap at the level of the call x; hits were refused so far.
func (c *Claim) Begin(x Call, hits float64) {
	c.sent, c.epochs, c.level, c.hits, c.at, c.rate = 0, 0, float64(x.Others), hits, x.At, 0
	c.unhelped, c.lonely, c.scatter = 0, 0, 0
}

// Weigh weighs a further refusal of a claimed cap, of the call x, and reports whether the claim holds; mark is when the one
// before left, rtt how long a call takes, and hovers whether the bound hovers.
func (c *Claim) Weigh(x Call, mark, rtt float64, hovers bool) bool {
	c.epochs++
	c.unhelped.note(x.At-mark < soonTrips*rtt)
	if c.noteAlone(x) || c.scattered() {
		return false
	}
	if hovers {
		if c.part { // others crowd too, and the level of the claim was theirs as well
			return c.unhelped < hoverAgain
		}
		c.weighCrowd(x)
		return c.unhelped < hoverAgain && !c.scattered()
	}
	falls := c.sent < newFor && backOff*float64(x.Others) < memoryFell*c.level
	return !c.isRate() && (c.epochs < enough || !falls && c.epochs <= rare*c.sent)
}

// noteAlone notes the refusal of the call x, and reports whether calls with no other in flight keep being refused,
// which no cap does unless others fill it.
func (c *Claim) noteAlone(x Call) (again bool) {
	if x.Others > 0 || c.off.Has(CapRule) {
		return false
	}
	again = c.lonely > 0
	c.lonely = lonelyFor
	if again {
		c.lonely = 0
	}
	return again
}

// scattered reports whether refusals keep coming that no cap explains.
func (c *Claim) scattered() bool { return c.scatter >= convinced && !c.part }

func (c *Claim) weighCrowd(x Call) {
	if rank, ok := c.crowd.Rank(x); ok {
		c.weighScatter(rank <= rare)
	}
}

// weighScatter weighs a refusal. unexplained is whether no cap explains it, because calls crowded or far more were in flight than at
// other refusals.
func (c *Claim) weighScatter(unexplained bool) {
	if !c.off.Has(CapRule) {
		c.scatter.note(unexplained)
	}
}

// isRate reports whether what speaks against a cap speaks for a rate.
func (c *Claim) isRate() bool { return c.unhelped >= convinced || c.scattered() }

// Noise is the share of calls refused under a claim that does not hold, if it
// is small enough to be noise.
func (c *Claim) Noise(hits float64) (share float64, ok bool) {
	share = (hits - c.hits) / c.sent
	return share, share < noisy && !c.isRate()
}

const noneTaken = handful // calls that were refused while none was taken, although one has ended: it is no cap that refuses

// Named reports whether refusals that are about the cap say so.
func (c *Claim) Named(now float64) bool { return now < c.namedUntil }

// noCap reports whether no cap can be what refuses the call c although nothing is admitted: one of ours takes what is
// below it, and takes a call when another one has ended. Others may fill one that they share, but not each time that a
// call is alone.
func (m *Machine) noCap(c Call) bool {
	if m.Flight.Claimed && m.claim.Named(c.At) { // other limits and errors do not name it
		return false
	}
	if m.Flight.mode == hovering || m.claim.shared {
		return m.Flight.Claimed && m.Door.refused >= convinced && m.claim.noteAlone(c)
	}
	drained, room := float64(c.Others) < 0.5*m.heldLevel(), m.tally.total.Ends > m.tally.marked.Ends
	return drained || room && m.Flight.Claimed && m.tally.refused >= noneTaken
}
