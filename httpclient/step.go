package httpclient

// step is a Phase as a number.
type step int32

const (
	stepPrepare step = iota
	stepConnect
	stepTLS
	stepSend
	stepHeader
	stepBody
)

func (s step) phase() Phase {
	switch s {
	case stepConnect:
		return PhaseConnect
	case stepTLS:
		return PhaseTLS
	case stepSend:
		return PhaseSend
	case stepHeader:
		return PhaseHeader
	case stepBody:
		return PhaseBody
	default:
		return PhasePrepare
	}
}
