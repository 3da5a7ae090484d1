"""The shops of the zoo: each has one bug that was seen in public, or is correct."""

from dataclasses import dataclass

GITHUB = "https://github.com/"


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A shop; without a bug it is correct.

    `ways` are those by which it learns of a payment, `lag_ms` is how late webhooks have an effect.
    `source` is the page on GitHub that describes the bug, `verdict` the id that `explore` reports.
    """

    name: str
    language: str
    ways: str = "webhook return job"
    lag_ms: int = 0
    bug: str = ""
    source: str = ""
    verdict: str = ""

    @property
    def link(self) -> str:
        return GITHUB + self.source


PYTHON, NODE, PHP = "Python", "Node.js", "PHP"
PAID, MONEY = "paid-without-money", "money-without-paid"
TWICE, CHARGED = "fulfilled-twice", "charged-twice"
NEVER, FORGED, CLOSED = "never-acknowledged", "forged-accepted", "not-closed"

_BUGS = (
    (
        PYTHON,
        "settles-at-once",
        "settles an order for each of several webhooks that arrive at once",
        "Pinelab-studio/pinelab-vendure-plugins/issues/620",
        TWICE,
    ),
    (
        PYTHON,
        "trusts-redirect",
        "marks an order paid when success_url is opened",
        "newbee-ltd/newbee-mall/issues/120",
        PAID,
    ),
    (
        PYTHON,
        "not-failed-is-paid",
        "treats a payment that has not failed as paid on the return",
        "HotcakesCommerce/hotcakes-commerce-core/issues/374",
        PAID,
    ),
    (
        PYTHON,
        "last-event-wins",
        "stores the status of the webhook that arrives last",
        "AlexsanderVargas/vendas-bot/issues/80",
        MONEY,
    ),
    (
        PYTHON,
        "points-need-processing",
        "has another result where an event arrives before the previous one",
        "solidusio/solidus_stripe/issues/189",
        "confluence",
    ),
    (
        PYTHON,
        "needs-processing",
        "refuses the change from pending to completed in its state machine",
        "vendurehq/vendure/pull/3749",
        MONEY,
    ),
    (
        PYTHON,
        "failed-is-final",
        "treats `failed` as final, although the payment may complete later",
        "offspot/imager-service/issues/525",
        MONEY,
    ),
    (
        PYTHON,
        "new-payment-on-retry",
        "creates a second payment after a lost response, without an idempotency key",
        "akash-network/console/pull/3449",
        CHARGED,
    ),
    (
        PYTHON,
        "repeats-slow-effect",
        "repeats a slow effect when the webhook is repeated after a time-out",
        "nozzlegear/ShopifySharp/issues/919",
        TWICE,
    ),
    (
        PYTHON,
        "cancels-while-paying",
        "cancels unpaid orders by a job while the customer pays",
        "Sylius/Sylius/issues/8928",
        MONEY,
    ),
    (
        PYTHON,
        "refuses-after-expiry",
        "refuses a payment that completes after the checkout has expired",
        "ai-shifu/ai-shifu/pull/2850",
        MONEY,
    ),
    (
        PYTHON,
        "caches-status",
        "reads the status of a payment from a cache after the first read",
        "HiEventsDev/Hi.Events/issues/598",
        MONEY,
    ),
    (
        PYTHON,
        "ships-on-both-paths",
        "fulfils an order both by the webhook and on the return",
        "getdokan/dokan/issues/2994",
        TWICE,
    ),
    (
        PYTHON,
        "newest-order",
        "applies a webhook to the newest order",
        "thephpleague/omnipay/issues/255",
        PAID,
    ),
    (
        PYTHON,
        "loses-session",
        "finds the order of a return in a session whose cookie is SameSite=Strict",
        "craftcms/commerce/issues/2737",
        MONEY,
    ),
    (
        PYTHON,
        "relies-on-return",
        "completes an order on the return only",
        "Waschtl904/song-nexus/issues/12",
        MONEY,
    ),
    (
        NODE,
        "new-key-on-retry",
        "sends another idempotency key with each attempt to create",
        "square/square-mcp-server/issues/31",
        CHARGED,
    ),
    (
        NODE,
        "ignores-signature",
        "ignores the signature of webhooks",
        "Carrington-dev/dj-payfast/issues/30",
        FORGED,
    ),
    (
        NODE,
        "500-on-unknown",
        "responds 500 to events of an unknown type",
        "vercel/nextjs-subscription-payments/issues/356",
        NEVER,
    ),
    (
        NODE,
        "job-and-webhook-race",
        "settles an order twice when its job and the webhook run at once",
        "pretix/pretix/issues/1166",
        TWICE,
    ),
    (
        NODE,
        "seen-before-done",
        "stores an event as processed before its effect, which is then cancelled",
        "AI-Shipping-Labs/website/issues/285",
        MONEY,
    ),
    (
        NODE,
        "processing-is-paid",
        "treats `processing` as paid",
        "Attendize/Attendize/issues/204",
        PAID,
    ),
    (
        NODE,
        "late-failure-cancels",
        "cancels a paid order when `failed` arrives late",
        "woocommerce/woocommerce-gateway-stripe/issues/902",
        MONEY,
    ),
    (
        NODE,
        "late-completion-pays",
        "marks a refunded order paid when `completed` arrives late",
        "mollie/Shopware/pull/65",
        PAID,
    ),
    (
        NODE,
        "ships-every-event",
        "fulfils an order for each delivery of an event",
        "scalekit-inc/org-brain-workshop/issues/10",
        TWICE,
    ),
    (
        NODE,
        "any-payment",
        "accepts any payment that names the order",
        "checkout/checkout-woocommerce-plugin/pull/176",
        PAID,
    ),
    (
        NODE,
        "ignores-mode",
        "accepts events of the other mode",
        "webrenew/memories/issues/396",
        PAID,
    ),
    (
        NODE,
        "redirects-webhook",
        "redirects webhooks to an address with a slash",
        "imranhsayed/woo-next/issues/82",
        NEVER,
    ),
    (
        PHP,
        "ignores-timestamp",
        "ignores the timestamp of webhooks",
        "Coolhand-Labs/coolhand-ruby/issues/86",
        FORGED,
    ),
    (
        PHP,
        "ignores-amount",
        "does not compare the amount with that of the order",
        "juanarrietabusiness-pixel/tommalopty/issues/7",
        PAID,
    ),
    (
        PHP,
        "ignores-refunds",
        "ignores refunds",
        "woocommerce/woocommerce-paypal-payments/issues/369",
        PAID,
    ),
    (
        PHP,
        "ignores-expiry",
        "leaves an order open when its payment expires",
        "mollie/WooCommerce/issues/1284",
        CLOSED,
    ),
    (
        PHP,
        "ignores-failure",
        "leaves an order open when its payment fails",
        "vendurehq/vendure/issues/1330",
        CLOSED,
    ),
    (
        PHP,
        "404-when-done",
        "responds 404 to webhooks of an order that is paid already",
        "202-ecommerce/stripe_official/issues/79",
        NEVER,
    ),
    (
        PHP,
        "409-on-duplicate",
        "responds 409 to a webhook that it has received already",
        "Automattic/woocommerce-payments/issues/3783",
        NEVER,
    ),
    (
        PHP,
        "encodes-body-again",
        "verifies the signature of a body that it has parsed and encoded again",
        "octokit/webhooks.js/issues/76",
        NEVER,
    ),
)
# The ways of a shop with a bug, where they are not all three.
_WAYS = {
    "last-event-wins": "webhook",
    "points-need-processing": "webhook",
    "needs-processing": "webhook",
    "failed-is-final": "webhook",
    "refuses-after-expiry": "webhook",
    "caches-status": "webhook return",
    "newest-order": "webhook",
    "loses-session": "webhook return",
    "relies-on-return": "webhook return",
    "seen-before-done": "webhook",
    "ships-every-event": "webhook",
    "late-failure-cancels": "webhook",
    "late-completion-pays": "webhook",
    "ignores-refunds": "webhook",
}
DESCRIPTIONS = {bug: description for _, bug, description, _, _ in _BUGS}
WRONG_SHOPS = tuple(
    Shop(
        name=bug,
        language=language,
        ways=_WAYS.get(bug, "webhook return job"),
        bug=bug,
        source=source,
        verdict=verdict,
    )
    for language, bug, _, source, verdict in _BUGS
)
CORRECT_SHOPS = (
    Shop(name="webhook-only", language=PYTHON, ways="webhook"),
    Shop(name="poll-only", language=PYTHON, ways="job"),
    Shop(name="webhook-and-return", language=PYTHON, ways="webhook return"),
    Shop(name="queue", language=PYTHON, ways="queue"),
    Shop(name="eventually-consistent", language=NODE, ways="webhook", lag_ms=40),
    Shop(name="all-ways", language=NODE),
    Shop(name="reconciliation-job", language=PHP, ways="webhook job"),
    Shop(name="poll-and-return", language=PHP, ways="job return"),
)
SHOPS = {shop.name: shop for shop in (*WRONG_SHOPS, *CORRECT_SHOPS)}
