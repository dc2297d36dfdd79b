package slo

import "errors"

// CheckName says what keeps a text from being the name of a service or an SLO.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return errors.New("a name has letters, digits, _, - and ., begins with a letter or digit, and has at most 100 characters")
	}
	return nil
}

// CheckLabel says what keeps a name from being one of a file's labels.
func CheckLabel(name string) error { return checkLabelName(name, reservedLabels) }

// CheckAlertLabel says what keeps a name from being one of the labels of pages
// and tickets. Unlike a file's, they may set the severity.
func CheckAlertLabel(name string) error { return checkLabelName(name, ownLabels) }
