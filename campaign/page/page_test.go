package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// whole is a page with every kind of block, made of one text.
func whole(text string) *Page {
	table := Table{Title: text, Columns: []Column{{Name: text}, {Name: "value", Unit: text, Number: true}}, Rows: [][]string{{text, "1"}, {text, "-"}}, Note: text}
	return &Page{Title: text, Mark: "PASS", Quote: text, Intro: []string{text}, Sections: []Section{
		{Title: text, Mark: "FAIL", Blocks: []Block{Text(text), List{text, []string{text, text}}, table, Facts(text, [2]string{text, text})}},
		{Title: text, Blocks: []Block{Fold{Title: text, Blocks: []Block{table}, ScreenOnly: true}, Plots{{Title: text, Caption: text, SVG: template.HTML("<svg></svg>"), Values: &table}}}},
	}}
}

func written(t interface{ Fatal(...any) }, write func(io.Writer) error) string {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tags is the page without its words.
func tags(html string) string {
	return strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(html, -1), "")
}

// Whatever a text holds, the page has the tags that it has for a harmless text of the same length.
func TestNoTextMakesTags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("<>&\"'`|\\[](){}*_#\x1b\x00\u202e\u2028=-! ")), rapid.Rune())).Draw(t, "text")
		text = strings.Map(func(r rune) rune { // what anchors and labels are made of differs with the text and is looked at below
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, text)
		evil, tame := tags(written(t, whole(text).HTML)), tags(written(t, whole(strings.Repeat("é", len([]rune(text)))).HTML))
		variable := regexp.MustCompile(` (class="long"|class="brief"|aria-label="[^"]*"|class="number")|<wbr>`)
		if a, b := variable.ReplaceAllString(evil, ""), variable.ReplaceAllString(tame, ""); text != "" && a != b {
			t.Fatalf("%q makes other tags:\n%s\n%s", text, a, b)
		}
		for name, page := range map[string]string{"HTML": written(t, whole(text).HTML), "Markdown": written(t, whole(text).Markdown)} {
			if i := strings.IndexFunc(page, func(r rune) bool { return r != '\n' && (r < ' ' || r == 0x7f || r == 0x202e || r == 0x2028) }); i >= 0 {
				t.Fatalf("the %s has a control character: %q", name, page[max(0, i-20):i+5])
			}
		}
	})
}

// Cells of Markdown tables stay cells.
func TestMarkdownTablesKeepTheirCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a|\\\n\r`<&* "))).Draw(t, "text")
		table := Table{Columns: TextColumns("x", "y"), Rows: [][]string{{text, "z"}}}
		var b strings.Builder
		table.markdown(&b)
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		plain := strings.NewReplacer(`\\`, "", `\|`, "").Replace(lines[len(lines)-1])
		if len(lines) != 3 || strings.Count(plain, "|") != 3 {
			t.Fatalf("%q", lines)
		}
	})
}

func TestPageAsksNothingOfTheNetwork(t *testing.T) {
	page := written(t, whole("text").HTML)
	for _, never := range []string{"<script", "<link", "<img", "<iframe", "src=", "url(", "@import", "http:", "https:"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	for _, must := range []string{`http-equiv="Content-Security-Policy" content="default-src 'none'`, "prefers-color-scheme: dark", "@media print", `name="viewport"`, `lang="en"`} {
		if !strings.Contains(page, must) {
			t.Errorf("the page has no %s", must)
		}
	}
}

// Every tag that is opened is closed, in order.
func TestPageIsWellFormed(t *testing.T) {
	page := written(t, whole("a < b").HTML)
	page = regexp.MustCompile(`<(meta|wbr)\b[^>]*>`).ReplaceAllString(page, "")
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!doctype html>\n")))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnchors(t *testing.T) {
	p := &Page{}
	for _, title := range []string{"KV cache", "kv  cache!", "", "\"><b>", "KV cache 2", "é"} {
		p.Sections = append(p.Sections, Section{Title: title})
	}
	if got, want := p.anchors(), []string{"kv-cache", "kv-cache-2", "section", "b", "kv-cache-2-2", "section-2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatIsEmptyIsLeftOut(t *testing.T) {
	p := &Page{Title: "t", Sections: []Section{{Title: "s", Blocks: []Block{List{Title: "none"}, Table{Title: "none", Columns: TextColumns("a")}, Plots{}}}}}
	for name, text := range map[string]string{"HTML": written(t, p.HTML), "Markdown": written(t, p.Markdown)} {
		if strings.Contains(text, "none<") || strings.Contains(text, "# none") || strings.Contains(text, "<table") {
			t.Errorf("%s: %s", name, text[max(0, len(text)-400):])
		}
	}
}

// The same words and numbers stand in both forms.
func TestBothFormsSayTheSame(t *testing.T) {
	p := whole("word")
	html := regexp.MustCompile(`(?s)<style>.*?</style>|<title>.*?</title>|<nav.*?</nav>|<figure>.*?</figure>|<[^>]*>`).ReplaceAllString(written(t, p.HTML), " ")
	markdown := regexp.MustCompile(`<[^>]*>|[#>|:-]+ ?`).ReplaceAllString(written(t, p.Markdown), " ")
	count := func(s string) int { return strings.Count(s, "word") }
	if a, b := count(html), count(markdown); a != b || a == 0 {
		t.Errorf("the page has the word %d times, the Markdown %d times", a, b)
	}
}

func TestErrorsOfTheWriterAreTold(t *testing.T) {
	full := errors.New("full")
	for _, write := range []func(io.Writer) error{whole("x").HTML, whole("x").Markdown} {
		if err := write(failing{full}); !errors.Is(err, full) {
			t.Errorf("%v", err)
		}
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
