"""The hosted checkout pages in HTML, which need no script."""
