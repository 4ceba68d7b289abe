package theme

// Role is what a cell means. Every theme has a style for every role.
type Role uint8

// Roles of the chrome.
const (
	RoleText     Role = iota // plain text and figures
	RoleDim                  // secondary text: units, shares, zero counts
	RoleTitle                // a panel's title
	RoleBorder               // a panel's border
	RoleFocus                // the border and title of the panel that has the focus
	RoleAccent               // the page that is shown, the cursor
	RoleGood                 // a state that needs no attention
	RoleWarn                 // a state to look at
	RoleBad                  // a state that is wrong
	RoleKey                  // a key in the footer and the help
	RoleSelected             // the selected row of a list
	RoleAxis                 // axes and their labels

	// One role per series. A series has the same hue on every page.
	RoleDecode
	RolePrefill
	RoleContext
	RoleChunk
	RoleKV
	RoleGraphFull
	RoleGraphPiecewise
	RoleGraphNone
	RoleGraphUnknown
	RolePeriod
	RolePeriodTail // the 95th percentile beside the median
	RoleQueue
	RolePrefix
	RolePreempt
	RoleWindow

	// Levels of a heat row, from little to much.
	RoleHeat1
	RoleHeat2
	RoleHeat3
	RoleHeat4
	RoleHeat5

	// Kernel families of a profiler window.
	RoleAttention
	RoleRouter
	RoleExpert
	RoleDense
	RoleNorm
	RoleCollective
	RoleSampling
	RoleMemory
	RoleOther

	NumRoles // the number of roles
)

// Attr is what a cell adds to the style of its role.
type Attr uint8

// Attributes may be combined.
const (
	Bold Attr = 1 << iota
	Reverse

	numAttrs = 4
)
