"""The operations on payments: the contract's, the customer's and the scheduler's operations."""
