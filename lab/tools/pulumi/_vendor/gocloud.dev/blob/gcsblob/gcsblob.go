// Package gcsblob names a scheme that a lab's pulumi does not open.
package gcsblob

// Scheme is that of Google's object store.
const Scheme = "gs"
