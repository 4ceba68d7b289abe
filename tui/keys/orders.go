package keys

// Actions that give orders to the server, and those of questions and forms.
const (
	CancelWindow ID = "cancel-window"
	StopServer   ID = "stop-server"
	Tasks        ID = "tasks"

	FieldNext  ID = "field-next"
	FieldPrev  ID = "field-prev"
	FieldLeft  ID = "field-left"
	FieldRight ID = "field-right"

	Yes      ID = "yes"
	No       ID = "no"
	NextTurn ID = "next-answer"
)

func orders() []Binding {
	return []Binding{
		{ID: CancelWindow, Keys: []string{"x"}, Help: "cancel window", Long: "take the selected window back before it has started", Group: GroupWindows, Contexts: in(ContextWindows), Needs: NeedControl | NeedOrders | NeedArmed, Footer: 7},
		{ID: Tasks, Keys: []string{"a"}, Help: "activity", Long: "list what the server was told to do: what, by whom, when, and what came of it", Group: GroupServer, Contexts: in(ContextAny), Needs: NeedSupervisor, Footer: 36},
		{ID: StopServer, Keys: []string{"ctrl+x"}, Show: "^X", Help: "stop server", Long: "stop the server, after a question", Group: GroupServer, Contexts: in(ContextServer), Needs: NeedSupervisor | NeedOwned | NeedOrders | NeedServer, Footer: 8},
	}
}

func dialogs() []Binding {
	form, question := in(ContextForm), in(ContextQuestion)
	return []Binding{
		{ID: Accept, Keys: []string{"enter"}, Help: "arm", Long: "give the order of the form", Group: GroupDialogs, Contexts: form, Footer: 1},
		{ID: Back, Keys: []string{"esc"}, Help: "close", Long: "close the form without an order", Group: GroupDialogs, Contexts: form, Footer: 2},
		{ID: FieldNext, Keys: []string{"tab", "down"}, Show: "tab ↓", Help: "next field", Long: "to the next field; tab first completes the name of a field of an expression", Group: GroupDialogs, Contexts: form, Footer: 3},
		{ID: FieldPrev, Keys: []string{"shift+tab", "up"}, Show: "S-tab ↑", Help: "field before", Long: "to the field before", Group: GroupDialogs, Contexts: form},
		{ID: FieldLeft, Keys: []string{"left"}, Show: "←", Help: "left", Long: "the choice before, or one character to the left", Group: GroupDialogs, Contexts: form, Footer: 4},
		{ID: FieldRight, Keys: []string{"right"}, Show: "→", Help: "right", Long: "the next choice, or one character to the right", Group: GroupDialogs, Contexts: form},
		{ID: Accept, Keys: []string{"enter"}, Help: "chosen answer", Long: "give the answer that is chosen, which is no at first", Group: GroupDialogs, Contexts: question, Footer: 4},
		{ID: Yes, Keys: []string{"y"}, Help: "yes", Long: "answer a question with yes", Group: GroupDialogs, Contexts: question, Footer: 1},
		{ID: No, Keys: []string{"n", "q"}, Show: "n", Help: "no", Long: "answer a question with no, as esc does", Group: GroupDialogs, Contexts: question, Footer: 2},
		{ID: NextTurn, Keys: []string{"tab", "shift+tab", "left", "right", "h", "l"}, Show: "tab", Help: "other answer", Long: "choose the other answer, for enter", Group: GroupDialogs, Contexts: question, Footer: 3},
	}
}
