package serverconf

import _ "embed"

//go:embed campaign.toml
var example string

// Example is a commented file with every key: Qwen3-30B-A3B on one H20.
func Example() string { return example }
