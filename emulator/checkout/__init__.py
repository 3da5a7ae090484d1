"""The hosted checkout: what the merchant's customer sees, in HTML that needs no script."""
