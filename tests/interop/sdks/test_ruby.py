"""openapi-generator's client for Ruby: it becomes a gem, and does what a shop needs."""

from pathlib import Path

from tests.interop.sdks.programs import copied, generate, is_as_expected, need, ran

CLIENT = "payments-ruby"


def test_a_client_in_ruby_is_generated_installed_and_used(shop: Path) -> None:
    need("java", "ruby", "gem")
    generate("usage.rb", shop)
    home = {"GEM_HOME": str(shop / "gems")}
    for file in sorted((shop / CLIENT / "lib").rglob("*.rb")):
        ran(shop, "ruby", "-c", str(file))
    ran(shop / CLIENT, "gem", "build", "--output", "../client.gem", "openapi_client.gemspec")
    ran(shop, "gem", "install", "--local", "--no-document", "client.gem", **home)
    copied("usage.rb", shop)
    is_as_expected(shop / "usage.rb", "ruby", **home)
