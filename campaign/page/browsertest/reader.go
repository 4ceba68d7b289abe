package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Look opens a report and holds it to what every report promises: it asks nothing of the network, says nothing on the console, fits every
// width, has a dark and a light side, prints, and the keyboard reaches all that reacts. Pictures go to $OPPROF_PICTURES, if set.
func Look(t testing.TB, b *Browser, name string, html []byte) {
	t.Helper()
	url := b.Open(t, html)
	background := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{360, 800, 1600} { // CSS pixels
			b.Show(t, width, scheme)
			b.fits(t, width)
			b.picture(t, fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
		}
		var colours string
		b.Eval(t, `getComputedStyle(document.body).backgroundColor + " " + getComputedStyle(document.body).color`, &colours)
		background[scheme] = colours
	}
	if background["light"] == background["dark"] {
		t.Errorf("light and dark look the same: %s", background["light"])
	}
	b.Show(t, 800, "light")
	b.walk(t)
	b.point(t)
	b.print(t, name+".pdf")
	for _, e := range b.Events("Network.requestWillBeSent") {
		var request struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		if err := json.Unmarshal(e.Params, &request); err != nil {
			t.Error(err)
		}
		if u := request.Request.URL; u != "" && u != url {
			t.Errorf("the page asks for %s", u)
		}
	}
	for _, method := range []string{"Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"} {
		for _, e := range b.Events(method) {
			t.Errorf("the browser complains: %s", e.Params)
		}
	}
}

// fits holds the page to the width of the screen.
func (b *Browser) fits(t testing.TB, width int) {
	t.Helper()
	var wide int
	b.Eval(t, `document.documentElement.scrollWidth`, &wide)
	if wide > width {
		var who string
		b.Eval(t, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %d && !e.closest(".wide")).slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join("\n")`, width), &who)
		t.Errorf("at %d pixels the page is %d wide: %s", width, wide, who)
	}
}

// walk presses tab until the page is left, and compares what was reached with what reacts.
func (b *Browser) walk(t testing.TB) {
	t.Helper()
	var want int
	b.Eval(t, `[...document.querySelectorAll("a[href], summary, [tabindex='0']")].filter(e => e.checkVisibility()).length`, &want)
	b.Eval(t, `(window.reached = new Set(), document.addEventListener("focusin", e => reached.add(e.target)), document.activeElement.blur(), 0)`, new(int))
	for range want + 3 {
		for _, kind := range []string{"keyDown", "keyUp"} {
			b.Ask(t, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}, nil)
		}
	}
	var reached, shown, hots int
	b.Eval(t, `reached.size`, &reached)
	if reached != want || want == 0 {
		t.Errorf("tab reaches %d of %d things", reached, want)
	}
	b.Eval(t, `document.querySelectorAll(".hot[tabindex]").length`, &hots)
	if hots == 0 {
		return
	}
	b.Eval(t, `(() => { const h = document.querySelector(".hot[tabindex]"); h.focus(); return getComputedStyle(h.querySelector("text")).visibility === "visible" ? 1 : 0 })()`, &shown)
	if shown != 1 {
		t.Error("a focused part of a plot does not show its value")
	}
}

// point moves the pointer to a part of each plot, which must then show its value.
func (b *Browser) point(t testing.TB) {
	t.Helper()
	var plots int
	b.Eval(t, `document.querySelectorAll("svg.plot:has(.hot)").length`, &plots)
	for i := range plots {
		var at struct{ X, Y float64 }
		b.Eval(t, fmt.Sprintf(`(() => { const plot = document.querySelectorAll("svg.plot:has(.hot)")[%d], hots = plot.querySelectorAll(".hot"); window.pointed = hots[hots.length >> 1];
			plot.scrollIntoView({block: "center"}); const r = pointed.querySelector("rect").getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2} })()`, i), &at)
		b.Ask(t, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at.X, "y": at.Y}, nil)
		var shown string
		b.Eval(t, `[...pointed.closest("svg").querySelectorAll(".hot text")].filter(e => getComputedStyle(e).visibility === "visible").map(e => e.textContent === pointed.getAttribute("aria-label") && e.textContent !== "" ? "its own" : e.textContent).join("|")`, &shown)
		var beyond bool
		b.Eval(t, `[...pointed.closest("svg").querySelectorAll("text")].some(e => { const box = e.getBBox(); return e.closest("g[transform]") === null && (box.x < 0 || box.x + box.width > 361) })`, &beyond)
		if beyond {
			t.Errorf("words of plot %d reach beyond it", i)
		}
		if shown != "its own" {
			t.Errorf("pointing at plot %d shows %q", i, shown)
		}
	}
}

// print makes the pages that a printer would get.
func (b *Browser) print(t testing.TB, name string) {
	t.Helper()
	var pdf struct {
		Data string `json:"data"`
	}
	b.Ask(t, "Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &pdf)
	text, err := base64.StdEncoding.DecodeString(pdf.Data)
	if err != nil || !strings.HasPrefix(string(text), "%PDF") {
		t.Fatalf("the page does not print: %v", err)
	}
	keep(t, name, text)
	// On paper nothing scrolls, so no table may be wider than its place, whose width is that of the sheet within its margins.
	const paper = 703 // A4 less 12 mm at each side, in CSS pixels
	b.Ask(t, "Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	b.Ask(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": paper, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	var cut []string
	b.Eval(t, `[...document.querySelectorAll(".wide")].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute("aria-label") + " " + e.scrollWidth)`, &cut)
	if len(cut) > 0 {
		t.Errorf("tables are cut on paper of %d pixels: %q", paper, cut)
	}
	b.Ask(t, "Emulation.setEmulatedMedia", map[string]any{"media": ""}, nil)
}

// picture keeps the whole page as it looks now.
func (b *Browser) picture(t testing.TB, name string) {
	t.Helper()
	if os.Getenv(pictures) == "" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	b.Ask(t, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	text, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, name, text)
}

// pictures names the folder that pictures go to.
const pictures = "OPPROF_PICTURES"

func keep(t testing.TB, name string, data []byte) {
	t.Helper()
	if dir := os.Getenv(pictures); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
