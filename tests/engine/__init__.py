"""The verbs and the scheduler, through the program that uses them."""
