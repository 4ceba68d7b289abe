package page

import "io"

// Document makes a page, with its plots or without them.
type Document func(plots bool) (*Page, error)

// HTML writes the page with its plots.
func (d Document) HTML(w io.Writer) error {
	p, err := d(true)
	if err != nil {
		return err
	}
	return p.HTML(w)
}

// Markdown writes the page without plots, which Markdown has no place for.
func (d Document) Markdown(w io.Writer) error {
	p, err := d(false)
	if err != nil {
		return err
	}
	return p.Markdown(w)
}
