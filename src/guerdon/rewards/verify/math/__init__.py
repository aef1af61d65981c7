"""The math grader: an answer is found, respelled, parsed whole and compared by type; each stage is one file."""
