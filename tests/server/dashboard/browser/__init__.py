"""Tests of the dashboard in Chromium, on a phone and a desktop, in both colour schemes."""
