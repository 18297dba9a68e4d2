package httpclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFinal(t *testing.T) {
	for e, want := range map[*Error]bool{
		{Code: CodeCanceled, Phase: PhaseHeader}:                            true,
		{Code: CodeUnsent, Phase: PhaseHeader}:                              true,
		{Code: CodeUpload, Phase: PhaseSend}:                                true,
		{Code: CodeBodyLimit, Phase: PhaseBody}:                             true,
		{Code: CodeRedirect, Phase: PhaseBody}:                              true,
		{Code: CodeStatus, Phase: PhaseBody}:                                true,
		{Code: CodeDNS, Phase: PhasePrepare}:                                true,
		{Code: CodeDNS, Phase: PhaseConnect}:                                false,
		{Code: CodeConnect, Phase: PhaseConnect}:                            false,
		{Code: CodeConnect, Phase: PhaseConnect, cause: &proxyError{403}}:   true,
		{Code: CodeConnect, Phase: PhaseConnect, cause: &proxyError{407}}:   true,
		{Code: CodeConnect, Phase: PhaseConnect, cause: &proxyError{408}}:   false,
		{Code: CodeConnect, Phase: PhaseConnect, cause: &proxyError{429}}:   false,
		{Code: CodeConnect, Phase: PhaseConnect, cause: &proxyError{502}}:   false,
		{Code: CodeTLS, Phase: PhaseTLS}:                                    false,
		{Code: CodeRead, Phase: PhaseHeader}:                                false,
		{Code: CodeRead, Phase: PhaseHeader, cause: ErrClosed}:              true,
		{Code: CodeRead, Phase: PhaseHeader, cause: &resentError{maxFresh}}: true,
		{Code: CodeReadTimeout, Phase: PhaseBody}:                           false,
		{Code: CodeUnknown, Phase: PhaseSend}:                               false,
	} {
		assert.Equal(t, want, e.Final(), "%v", e)
	}
}
