package layout

import "testing"

// TestPresets: at every size each preset fills the body without holes, shows its first row, and names itself.
func TestPresets(t *testing.T) {
	names := map[string]bool{}
	for p := range Presets {
		if names[p.String()] {
			t.Errorf("%q names two presets", p)
		}
		names[p.String()] = true
		for w := MinWidth; w <= 220; w += 7 {
			for h := MinHeight; h <= 70; h++ {
				boxes := Arrange(Page{Width: w, Height: h, Preset: p, Engines: 1 + h%3})
				area, seen := 0, map[ID]bool{}
				for _, b := range boxes {
					if seen[b.ID] {
						t.Fatalf("%s at %dx%d: %s stands twice", p, w, h, b.ID)
					}
					seen[b.ID] = true
					area += b.Rect.W * b.Rect.H
					if b.Joined {
						area -= b.Rect.W // the shared border
					}
				}
				if area != w*h {
					t.Fatalf("%s at %dx%d: %d of %d cells are placed", p, w, h, area, w*h)
				}
				if first := map[Preset]ID{PresetTime: Period, PresetMemory: KV, PresetLoad: Batch}[p]; first != "" && !seen[first] {
					t.Fatalf("%s at %dx%d lacks %s", p, w, h, first)
				}
			}
		}
	}
}
