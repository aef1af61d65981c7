"""One pool of killable processes for everything that is untrusted, slow, or may hang."""
