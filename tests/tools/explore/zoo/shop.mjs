// A small shop in Node.js. Without a bug it is correct; `bug('…')` marks each deviation.
// Its settings are environment variables, as in shop.py.
// `LAG` delays the effect of webhooks (ms).
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { subscribe } from 'node:diagnostics_channel'
import { once, EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

const { PORT, PAYMENTS_EMULATOR_URL, BUG = '' } = process.env
const WAYS = (process.env.WAYS ?? 'webhook return job').split(' ')
const LAG = Number(process.env.LAG ?? 0)
const BASE = `http://127.0.0.1:${PORT}`
const SECRET = Buffer.from(process.env.PAYMENTS_EMULATOR_WEBHOOK_SECRET.slice(6), 'base64')
const RANKS = { pending: 0, processing: 0, failed: 1, expired: 1, completed: 2, refunded: 3 }
const NAMES = { failed: 'cancelled', expired: 'cancelled', completed: 'paid', refunded: 'refunded' }
const IS_DURABLE = WAYS.includes('durable')
const orders = new Map(IS_DURABLE && existsSync(process.env.DATABASE) ? JSON.parse(readFileSync(process.env.DATABASE)) : [])
const seen = new Set()
const unsent = [] // until the next request
const arriving = new Set() // connections whose first request has not checked yet
const reads = new EventEmitter()
subscribe('undici:request:headers', () => reads.emit('received'))
const bug = (name) => BUG === name

function save() {
  if (!IS_DURABLE) return
  writeFileSync(`${process.env.DATABASE}.new`, JSON.stringify([...orders]))
  renameSync(`${process.env.DATABASE}.new`, process.env.DATABASE)
}

async function call(method, path, body) {
  const headers = { authorization: `Bearer ${process.env.PAYMENTS_EMULATOR_TEST_KEY}`, 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(method === 'POST' ? 2000 : 10_000)
  const response = await fetch(PAYMENTS_EMULATOR_URL + path, { method, headers, body: JSON.stringify(body), signal })
  return { status: response.status, wait: response.headers.get('retry-after'), json: await response.json() }
}

async function createPayment(order) {
  const url = `${BASE}/return?order=${order.id}`
  const body = {
    amount: order.amount, currency: 'ETB', methods: ['telebirr'], success_url: url,
    cancel_url: `${BASE}/cancelled`, metadata: { order: order.id }, idempotency_key: order.id,
  }
  for (let attempt = 0; attempt < 3; attempt += 1) {
    if (bug('new-key-on-retry')) body.idempotency_key = randomUUID()
    const { status, wait, json } = await call('POST', '/v1/payments', body).catch((error) => {
      if (bug('new-key-after-timeout') && error.name === 'TimeoutError') body.idempotency_key = randomUUID()
      return { status: 500 }
    })
    if (status === 201) return json
    if (status !== 429 && status < 500) break
    await sleep(wait ? wait * 1000 : 100)
  }
  throw new Error('no payment')
}

async function retrieve(payment) {
  const { status, json } = await call('GET', `/v1/payments/${payment}`)
  if (status !== 200) throw new Error(`the service answers ${status}`)
  return json
}

// An older or equal status changes nothing, so any order and number of events is safe.
function apply(order, status) {
  if (bug('processing-is-paid') && status === 'processing') status = 'completed'
  if (bug('late-failure-cancels') && status === 'failed') order.status = 'cancelled'
  if (bug('late-completion-pays') && status === 'completed') order.status = 'paid'
  if (bug('ships-every-event') && status === 'completed') order.shipments += 1
  const { known } = order
  if (RANKS[status] <= RANKS[known]) return
  order.known = status
  order.status = NAMES[status]
  if (status === 'completed' && !bug('ships-every-event')) order.shipments += 1
  save()
}

// Requests that were sent at the same moment have checked, too.
async function meet(request) {
  arriving.delete(request.socket)
  await turn()
  while (arriving.size) await sleep(1)
}

async function applyFresh(order, request) {
  if (bug('job-and-webhook-race')) {
    if (order.status === 'paid') return
    await meet(request)
  }
  const { status } = await retrieve(order.payment)
  if (bug('job-and-webhook-race') && status === 'completed') {
    order.status = 'paid' // Another request may have done this during the retrieve.
    order.known = status
    order.shipments += 1
  } else {
    apply(order, status)
  }
}

function isGenuine(headers, body) {
  if (bug('ignores-signature')) return true
  const stamp = headers['webhook-timestamp']
  if (!(Math.abs(Date.now() / 1000 - stamp) <= 300)) return false
  const signed = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${stamp}.`), body])
  const expected = Buffer.from(`v1,${createHmac('sha256', SECRET).update(signed).digest('base64')}`)
  return (headers['webhook-signature'] ?? '').split(' ', bug('first-signature-only') ? 1 : 99).map((each) => Buffer.from(each))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected))
}

async function webhook(request, body) {
  if (bug('redirects-webhook')) return 308
  if (!isGenuine(request.headers, body)) return 400
  const event = JSON.parse(body)
  const { data } = event
  const status = event.type.replace('payment.', '')
  if (!(status in RANKS) && status !== 'created') return bug('500-on-unknown') ? 500 : 200
  const order = orders.get(data.metadata.order)
  if (!order || (event.mode !== 'test' && !bug('ignores-mode'))) return 200
  if (order.payment && order.payment !== data.id && !bug('any-payment')) return 200
  if (!WAYS.includes('webhook')) return 200
  if (bug('seen-before-done') || bug('job-and-webhook-race') || bug('remembers-before-read')) {
    if (seen.has(event.id)) return 200
    seen.add(event.id)
  }
  if (bug('seen-before-done') && status === 'completed') {
    await Promise.race([once(request.socket, 'close'), sleep(500)])
    if (request.socket.destroyed) return 499 // The framework cancels the handler with its request.
  }
  if (bug('fails-in-background') && status === 'completed') {
    const received = once(reads, 'received')
    applyFresh(order).catch(() => {}) // Nobody repeats it.
    await received // Else the read could be after the fault.
  } else if (bug('error-is-failure')) await applyFresh(order).catch(() => apply(order, 'failed'))
  else if ((bug('remembers-before-read') && status === 'completed') || WAYS.includes('read')) await applyFresh(order, request)
  else if (bug('job-and-webhook-race') && status === 'completed') await applyFresh(order, request)
  else if (bug('loses-queue') && status === 'completed') unsent.push([order, status])
  else if (LAG) setTimeout(() => apply(order, data.status), LAG)
  else apply(order, data.status)
  return 200
}

async function start({ amount }) {
  const order = { id: `o${orders.size + 1}`, amount, status: 'pending', known: 'pending', shipments: 0 }
  orders.set(order.id, order)
  order.payment = (await createPayment(order)).id
  save()
  return order
}

async function answer(request, body) {
  while (unsent.length) apply(...unsent.pop())
  const url = new URL(request.url, BASE)
  const name = url.pathname.split('/').pop()
  if (url.pathname === '/webhooks') return [await webhook(request, body), {}]
  if (request.method === 'POST' && url.pathname === '/orders') {
    const order = await start(JSON.parse(body))
    return [201, { id: order.id, payment_id: order.payment }]
  }
  if (url.pathname === '/return') {
    if (WAYS.includes('return')) await applyFresh(orders.get(url.searchParams.get('order')), request)
    return [200, {}]
  }
  if (request.method === 'POST') {
    await applyFresh(orders.get(name), request)
    return [200, {}]
  }
  const order = orders.get(name)
  if (!order) return [url.pathname === '/health' ? 200 : 404, {}]
  const { id, status, shipments, payment } = order
  return [200, { id, status, shipments, payment }]
}

const server = createServer(async (request, response) => {
  if (!/^\/(webhooks|return|jobs)/.test(request.url)) arriving.delete(request.socket)
  const parts = []
  for await (const part of request) parts.push(part)
  const [status, body] = await answer(request, Buffer.concat(parts)).catch(() => [502, {}])
  arriving.delete(request.socket)
  const headers = { 'content-type': 'application/json' }
  if (status === 308) headers.location = `${request.url}/`
  response.writeHead(status, headers).end(JSON.stringify(body))
})
server.on('connection', (socket) => {
  arriving.add(socket)
  socket.on('close', () => arriving.delete(socket))
})
server.listen(Number(PORT), '127.0.0.1')
