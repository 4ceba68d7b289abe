package keys

// Actions of looking through a run.
const (
	Search    ID = "search"
	NextFound ID = "next-found"
	PrevFound ID = "prev-found"
	Overview  ID = "overview"
	Bookmark  ID = "bookmark"
	Notes     ID = "notes"

	Delete ID = "delete"
	Undo   ID = "undo"
	Edit   ID = "edit"
)

func review() []Binding {
	charts := in(ContextCharts)
	form, notes := in(ContextSearch), in(ContextNotes)
	return []Binding{
		{ID: Search, Keys: []string{"ctrl+f"}, Show: "^F", Help: "search", Long: "search the steps of the run by an expression, and count those that match", Group: GroupReview, Contexts: charts, Needs: NeedSteps, Footer: 21},
		{ID: NextFound, Keys: []string{"f"}, Help: "next match", Long: "to the next step that matches the search", Group: GroupReview, Contexts: charts, Needs: NeedSteps},
		{ID: PrevFound, Keys: []string{"F"}, Help: "previous match", Long: "to the previous step that matches the search", Group: GroupReview, Contexts: charts, Needs: NeedSteps},
		{ID: Overview, Keys: []string{"O"}, Help: "whole run", Long: "the whole run on the whole page, a row for each figure and kind of event, and back", Group: GroupReview, Contexts: charts, Needs: NeedSteps},
		{ID: Bookmark, Keys: []string{"b"}, Help: "bookmark", Long: "bookmark the step at the cursor, with a note or without; it is kept in the run", Group: GroupReview, Contexts: charts, Needs: NeedSteps, Footer: 51},
		{ID: Notes, Keys: []string{"B"}, Help: "bookmarks", Long: "list bookmarks and notes: go to one, change it, delete it", Group: GroupReview, Contexts: charts},

		{ID: Accept, Keys: []string{"enter"}, Help: "search", Long: "search for the expression; an empty one ends the search", Group: GroupReview, Contexts: form, Footer: 1},
		{ID: Back, Keys: []string{"esc"}, Help: "close", Long: "close the form without a search", Group: GroupReview, Contexts: form, Footer: 2},
		{ID: FieldNext, Keys: []string{"tab"}, Help: "complete", Long: "complete the name of a field", Group: GroupReview, Contexts: form, Footer: 3},
		{ID: FieldLeft, Keys: []string{"left"}, Show: "←", Help: "left", Long: "one character to the left", Group: GroupReview, Contexts: form},
		{ID: FieldRight, Keys: []string{"right"}, Show: "→", Help: "right", Long: "one character to the right", Group: GroupReview, Contexts: form},

		{ID: Down, Keys: []string{"j", "down"}, Show: "j ↓", Help: "down", Long: "the next note", Group: GroupReview, Contexts: notes, Footer: 6},
		{ID: Up, Keys: []string{"k", "up"}, Show: "k ↑", Help: "up", Long: "the note before", Group: GroupReview, Contexts: notes, Footer: 7},
		{ID: Accept, Keys: []string{"enter"}, Help: "go to", Long: "to the step of the selected note", Group: GroupReview, Contexts: notes, Footer: 1},
		{ID: Edit, Keys: []string{"e"}, Help: "edit", Long: "change the text of the selected note", Group: GroupReview, Contexts: notes, Footer: 2},
		{ID: Delete, Keys: []string{"x"}, Help: "delete", Long: "delete the selected note; u brings it back", Group: GroupReview, Contexts: notes, Footer: 3},
		{ID: Undo, Keys: []string{"u"}, Help: "undo", Long: "bring back the note that was deleted last", Group: GroupReview, Contexts: notes, Footer: 4},
		{ID: Back, Keys: []string{"esc", "q", "B"}, Show: "esc", Help: "close", Long: "close the list", Group: GroupReview, Contexts: notes, Footer: 5},
	}
}
