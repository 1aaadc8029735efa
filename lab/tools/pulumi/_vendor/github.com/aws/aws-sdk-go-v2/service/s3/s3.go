// Package s3 has the one type that pulumi's file backend names; the real one is the largest package of its build.
package s3

// CopyObjectInput is what a copy inside Amazon's object store would be asked with.
type CopyObjectInput struct {
	CopySource *string
}
