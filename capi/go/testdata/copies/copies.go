// Package copies has what go vet must report: TestCopiesAreReported.
package copies

import "github.com/guira-rs/guira/capi/go"

func filter(f *guira.Filter) guira.Filter {
	copied := *f
	return copied
}
