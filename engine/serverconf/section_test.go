package serverconf

import (
	"slices"
	"strings"
	"testing"
)

type fruit struct {
	Pairs int            `toml:"pairs"`
	Load  map[string]row `toml:"load"`
	Wait  Duration       `toml:"wait"`
}

type row struct {
	Prompts int `toml:"prompts"`
}

func TestAnotherSectionIsReadAsStrictly(t *testing.T) {
	const server = "[server]\nmodel = 'm'\n"
	for text, want := range map[string]string{
		"[campaign]\npair = 3\n": `c.toml:4: unknown key "campaign.pair"; did you mean "campaign.pairs"?`,
		"[campaign.load.a]\nprompts = 1\n[campaign.load.b]\nprompt = 2\n": `c.toml:6: unknown key "campaign.load.b.prompt"; did you mean "campaign.load.b.prompts"?`,
		"[campaign]\npairs = 'x'\n":                                       "c.toml:4: campaign.pairs: ",
		"[campaign]\nwait = '3'\n":                                        `"3" is not a duration`,
		"[campaign]\nprompts = 1\n":                                       `did you mean "campaign.load.*.prompts"?`,
		"[other]\n":                                                       "has no [campaign] section",
	} {
		if _, err := ReadSection("c.toml", server+text, "campaign", &fruit{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	in := fruit{Pairs: 6}
	s, err := ReadSection("c.toml", server+"[campaign.load.z]\nprompts = 1\n[campaign.load.a]\nprompts = 2\n", "campaign", &in)
	if err != nil || in.Pairs != 6 || in.Load["a"].Prompts != 2 || !slices.Equal(s.Names("load"), []string{"z", "a"}) {
		t.Fatalf("%+v, %v", in, err)
	}
	if s.Has("pairs") || !s.Has("load", "z") {
		t.Error("what is set is not told from what is not")
	}
	if got := s.Errorf([]string{"load", "a", "prompts"}, "%d", 2).Error(); got != "c.toml:6: campaign.load.a.prompts: 2" {
		t.Error(got)
	}
}
