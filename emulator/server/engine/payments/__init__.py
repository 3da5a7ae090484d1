"""The operations on payments: those of the contract, of the customer and of the scheduler."""
