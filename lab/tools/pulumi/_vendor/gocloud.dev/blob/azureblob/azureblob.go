// Package azureblob names a scheme that a lab's pulumi does not open.
package azureblob

import (
	"context"
	"errors"
	"net/url"

	"gocloud.dev/blob"
)

// Scheme is that of Azure's object store.
const Scheme = "azblob"

// ServiceURLOptions is empty, because nothing is opened.
type ServiceURLOptions struct{}

// NewDefaultServiceURLOptions gives the empty options.
func NewDefaultServiceURLOptions() *ServiceURLOptions { return &ServiceURLOptions{} }

// NewDefaultClient is never called.
func NewDefaultClient() {}

// URLOpener opens nothing.
type URLOpener struct {
	MakeClient        func()
	ServiceURLOptions ServiceURLOptions
}

// OpenBucketURL always fails.
func (*URLOpener) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return nil, errors.New("this pulumi was built for the lab and keeps states in files only; install pulumi")
}
