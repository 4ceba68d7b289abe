// Package cmd is the command line: it turns flags, environment and configuration into calls of the packages below and prints what they
// return. The outside world reaches it only through an Env, so that whole commands run in memory in tests.
//
// One command stands in one file: an options struct, a constructor that binds the flags, and a run method that does the work.
package cmd
