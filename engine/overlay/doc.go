// Package overlay puts OpProf's recorder into an installed vLLM without keeping any of vLLM's text: the patch is
// a list of insertions at short anchors of three files plus one new file, and holds only for the exact files whose
// SHA-256 it names.
//
// There are two ways to use a [Patch]:
//
//   - [Cache.Build] makes a private package folder beside nothing of the user's: real folders, a symbolic link for
//     every file of the installation, and real files for the patched ones. First on PYTHONPATH it is what every
//     process of the server imports, while the installation stays as it was. Its path is fixed by version, patch and
//     installation, because vLLM's compile cache hashes the path of every file it traces.
//   - [Patch.Apply] and [Patch.Revert] change an installation or a source checkout in place, for those who build
//     images. Backups and a state file are on disk before the first file changes, so that an interrupted run is seen
//     by the next command, which can go either way.
//
// Both begin with the same guard, [Patch.Check], which reports everything that does not fit at once.
package overlay
