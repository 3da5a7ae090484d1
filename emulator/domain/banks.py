"""The fictional banks of the simulated bank transfer."""

BANKS = {
    "walia_test": "Walia Test Bank",
    "gelada_test": "Gelada Test Bank",
    "semien_test": "Semien Test Bank",
    "fidel_test": "Fidel Test Bank",
}
