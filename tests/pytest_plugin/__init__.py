"""The plugin as a merchant's tests meet it; it is installed where these tests run."""
