// A shop in Express: a login as JSON, a CSRF token in a header, webhooks in a queue.
// With `BUG` the page to which the customer returns marks the order as paid.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { Webhook } from 'standardwebhooks'

const { PORT, BUG, PAYMENTS_EMULATOR_URL, PAYMENTS_EMULATOR_TEST_KEY } = process.env
const verifier = new Webhook(process.env.PAYMENTS_EMULATOR_WEBHOOK_SECRET)
const RANKS = { failed: 1, expired: 1, completed: 2, refunded: 3 }
const NAMES = { failed: 'cancelled', expired: 'cancelled', completed: 'paid', refunded: 'refunded' }
const sessions = new Map()
const orders = new Map()
const queue = []

const app = express()

function session(request) {
  const cookie = (request.headers.cookie ?? '').split('; ').find((each) => each.startsWith('sid='))
  return sessions.get(cookie?.slice(4))
}

function guard(request, response, next) {
  const own = session(request)
  if (own && request.headers['x-csrf-token'] === own.csrf) next()
  else response.status(403).json({ error: 'log in first' })
}

async function createPayment(order) {
  const url = `http://127.0.0.1:${PORT}/thanks/${order.id}`
  const body = JSON.stringify({
    amount: 15000, currency: 'ETB', methods: ['telebirr'], success_url: url, cancel_url: url,
    metadata: { order: order.id }, idempotency_key: order.id,
  })
  const headers = { authorization: `Bearer ${PAYMENTS_EMULATOR_TEST_KEY}`, 'content-type': 'application/json' }
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const response = await fetch(`${PAYMENTS_EMULATOR_URL}/v1/payments`, { method: 'POST', headers, body })
      .catch(() => undefined)
    if (response?.ok) return response.json()
    await sleep(1000 * (response?.headers.get('retry-after') ?? 0.1))
  }
  throw new Error('no payment')
}

// An older or equal status changes nothing, so any order and number of events is safe.
function settle({ type, mode, data }) {
  const status = type.replace('payment.', '')
  const order = orders.get(data.metadata.order)
  const isOurs = order && mode === 'test' && order.payment === data.id
  if (!isOurs || !(RANKS[status] > order.known)) return
  order.known = RANKS[status]
  order.status = NAMES[status]
  if (status === 'completed') order.parcels += 1
}

app.post('/webhooks', express.raw({ type: '*/*' }), (request, response) => {
  try {
    queue.push(verifier.verify(request.body, request.headers))
    response.sendStatus(202)
  } catch {
    response.sendStatus(400)
  }
})

// A worker of the shop takes from the queue; the tests do it at once.
const work = () => queue.splice(0).forEach(settle)
setInterval(work, 300)
app.post('/test/flush', (_, response) => {
  work()
  response.sendStatus(204)
})

app.post('/login', express.json(), (request, response) => {
  const id = randomUUID()
  sessions.set(id, { customer: request.body.email, csrf: randomUUID() })
  response.cookie('sid', id, { httpOnly: true, sameSite: 'strict' })
  response.json({ csrf: sessions.get(id).csrf })
})

app.post('/orders', guard, express.json(), async (request, response) => {
  const order = { id: `o${orders.size + 1}`, item: request.body.item, status: 'open', known: 0, parcels: 0 }
  orders.set(order.id, order)
  try {
    order.payment = (await createPayment(order)).id
    response.status(201).location(`/orders/${order.id}`).json({})
  } catch {
    response.sendStatus(502)
  }
})

app.get('/thanks/:id', (request, response) => {
  if (BUG) orders.get(request.params.id).status = 'paid'
  response.send('<h1>Thank you</h1>')
})

app.get('/orders/:id', (request, response) => {
  const { status, parcels } = orders.get(request.params.id)
  response.json({ order: { status, parcels }, shown_at: Date.now() })
})

app.listen(Number(PORT), '127.0.0.1')
