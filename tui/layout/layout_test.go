package layout

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var letters = map[ID]rune{
	Header: 'h', Tabs: 't', Scrub: 's', Footer: 'f', Period: 'P', Load: 'L', Batch: 'B', Queues: 'Q', Context: 'C', ContextTime: 'T',
	Chunk: 'U', KV: 'K', Graph: 'G', Pressure: 'R', Prefix: 'X', Preempt: 'E', Step: 'S', Windows: 'W', Engines: 'D',
}

// picture draws boxes with a letter each: one character for four columns, one line for each line. A line that two boxes share shows
// the lower one.
func picture(p Page, boxes []Box) string {
	lines := make([][]rune, p.Height)
	for y := range lines {
		lines[y] = []rune(strings.Repeat(".", p.Width/4))
	}
	for _, b := range boxes {
		for y := b.Rect.Y; y < b.Rect.Y+b.Rect.H; y++ {
			for x := b.Rect.X; x < b.Rect.X+b.Rect.W; x++ {
				if x%4 == 1 && x/4 < len(lines[y]) {
					lines[y][x/4] = letters[b.ID]
				}
			}
		}
	}
	var out strings.Builder
	for _, l := range lines {
		out.WriteString(string(l) + "\n")
	}
	return out.String()
}

func TestArrange(t *testing.T) {
	tests := []struct {
		name string
		page Page
		want string
	}{
		{"smallest", Page{Width: 60, Height: 16}, `
			hhhhhhhhhhhhhhh
			ttttttttttttttt
			PPPPPPPPPKKKKKK
			PPPPPPPPPKKKKKK
			PPPPPPPPPKKKKKK
			PPPPPPPPPKKKKKK
			PPPPPPPPPKKKKKK
			PPPPPPPPPKKKKKK
			PPPPPPPPPKKKKKK
			CCCCCCCCUUUUUUU
			CCCCCCCCUUUUUUU
			CCCCCCCCUUUUUUU
			CCCCCCCCUUUUUUU
			CCCCCCCCUUUUUUU
			CCCCCCCCUUUUUUU
			fffffffffffffff`},
		{"80x24", Page{Width: 80, Height: 24}, `
			hhhhhhhhhhhhhhhhhhhh
			tttttttttttttttttttt
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			ffffffffffffffffffff`},
		{"80x24 review", Page{Width: 80, Height: 24, Scrubber: true}, `
			hhhhhhhhhhhhhhhhhhhh
			tttttttttttttttttttt
			ssssssssssssssssssss
			ssssssssssssssssssss
			ssssssssssssssssssss
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			PPPPPPPPPPPPLLLLLLLL
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			CCCCCCCCCCUUUUUUUUUU
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			KKKKKKKGGGGGGGRRRRRR
			ffffffffffffffffffff`},
		{"maximised", Page{Width: 60, Height: 16, Maximised: Step}, `
			hhhhhhhhhhhhhhh
			ttttttttttttttt
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			SSSSSSSSSSSSSSS
			fffffffffffffff`},
		{"120x40 with four engines", Page{Width: 120, Height: 40, Engines: 4}, `
			hhhhhhhhhhhhhhhhhhhhhhhhhhhhhh
			tttttttttttttttttttttttttttttt
			PPPPPPPPPPPPPPPPPPPBBBBBBBBBBB
			PPPPPPPPPPPPPPPPPPPBBBBBBBBBBB
			PPPPPPPPPPPPPPPPPPPBBBBBBBBBBB
			PPPPPPPPPPPPPPPPPPPBBBBBBBBBBB
			PPPPPPPPPPPPPPPPPPPQQQQQQQQQQQ
			PPPPPPPPPPPPPPPPPPPQQQQQQQQQQQ
			PPPPPPPPPPPPPPPPPPPQQQQQQQQQQQ
			PPPPPPPPPPPPPPPPPPPQQQQQQQQQQQ
			PPPPPPPPPPPPPPPPPPPQQQQQQQQQQQ
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			CCCCCCCCCCCUUUUUUUUUUUKKKKKKKK
			TTTTTTTTTTTGGGGGGGGGGGXXXXXXXX
			TTTTTTTTTTTGGGGGGGGGGGXXXXXXXX
			TTTTTTTTTTTGGGGGGGGGGGXXXXXXXX
			TTTTTTTTTTTGGGGGGGGGGGEEEEEEEE
			TTTTTTTTTTTGGGGGGGGGGGEEEEEEEE
			TTTTTTTTTTTGGGGGGGGGGGEEEEEEEE
			TTTTTTTTTTTGGGGGGGGGGGEEEEEEEE
			DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
			DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
			DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
			DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
			DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
			DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
			DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
			ffffffffffffffffffffffffffffff`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.TrimPrefix(strings.ReplaceAll(tt.want, "\t", ""), "\n") + "\n"
			if got := picture(tt.page, Arrange(tt.page)); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestArrangeBelowMinimum(t *testing.T) {
	for _, p := range []Page{{}, {Width: 59, Height: 16}, {Width: 60, Height: 15}, {Width: -1, Height: 100}} {
		if boxes := Arrange(p); boxes != nil {
			t.Errorf("%dx%d: got %d boxes, want none", p.Width, p.Height, len(boxes))
		}
	}
}

// TestArrangeCoversScreen: every cell belongs to exactly one part, except the border line that a joined box shares with the one above.
func TestArrangeCoversScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Page{
			Width:    rapid.IntRange(MinWidth, 300).Draw(t, "width"),
			Height:   rapid.IntRange(MinHeight, 120).Draw(t, "height"),
			Scrubber: rapid.Bool().Draw(t, "scrubber"),
			Density:  Density(rapid.IntRange(0, int(Densities)-1).Draw(t, "density")),
			Engines:  rapid.IntRange(0, 20).Draw(t, "engines"),
		}
		if rapid.IntRange(0, 3).Draw(t, "maximised") == 0 {
			p.Maximised = rapid.SampledFrom(Panels(p.Engines)).Draw(t, "panel")
		}
		owners := make([]int, p.Width*p.Height)
		seen := map[ID]bool{}
		for _, b := range Arrange(p) {
			if seen[b.ID] {
				t.Fatalf("%s stands twice", b.ID)
			}
			seen[b.ID] = true
			r := b.Rect
			if r.X < 0 || r.Y < 0 || r.X+r.W > p.Width || r.Y+r.H > p.Height {
				t.Fatalf("%s at %v is outside %dx%d", b.ID, r, p.Width, p.Height)
			}
			if len(Focusable([]Box{b})) > 0 && (r.W < 18 || r.H < 3) {
				t.Fatalf("%s at %v is too small to say anything", b.ID, r)
			}
			for y := r.Y; y < r.Y+r.H; y++ {
				for x := r.X; x < r.X+r.W; x++ {
					if !b.Joined || y > r.Y {
						owners[y*p.Width+x]++
					}
				}
			}
		}
		for i, n := range owners {
			if n != 1 {
				t.Fatalf("cell %d,%d has %d owners", i%p.Width, i/p.Width, n)
			}
		}
	})
}

// TestPanelsReachable: every panel of a template can be reached maximised, and the panels that stand for two lead to their parts.
func TestPanelsReachable(t *testing.T) {
	all := map[ID]bool{Load: true, Pressure: true}
	for _, id := range Panels(2) {
		all[id] = true
	}
	for _, size := range [][2]int{{60, 16}, {80, 24}, {80, 60}, {120, 40}, {180, 50}, {300, 100}} {
		for _, b := range Focusable(Arrange(Page{Width: size[0], Height: size[1], Engines: 4})) {
			if !all[b.ID] {
				t.Errorf("%dx%d: %s cannot be reached maximised", size[0], size[1], b.ID)
			}
		}
	}
}

func TestDensity(t *testing.T) {
	tests := []struct {
		density Density
		width   int
		want    Density
	}{
		{Auto, 80, Compact}, {Auto, 120, Normal}, {Auto, 180, Full},
		{Full, 80, Compact}, {Compact, 180, Compact}, {Normal, 180, Normal}, {Full, 120, Normal},
	}
	for _, tt := range tests {
		if got := tt.density.of(tt.width); got != tt.want {
			t.Errorf("%v at width %d: %v, want %v", tt.density, tt.width, got, tt.want)
		}
	}
}
