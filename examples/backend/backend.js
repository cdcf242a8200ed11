/** A backend with log-ins of its own, see the README of this folder. */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { accountOf, logIn, logOutEverywhere, otherAccounts } from './accounts.js'
import { issueToken, revokeTokens, service, userIdOf } from './hermod.js'

const { PORT = '3000', WEBHOOK_SECRET = '' } = process.env
const publicFolder = join(import.meta.dirname, 'public')
/** The modules of the client, which need no bundler. */
const clientFolder = dirname(fileURLToPath(import.meta.resolve('@hermod/client/node')))
const maxBodyBytes = 1_000_000

/** @typedef {{ status?: number, headers?: Record<string, string>, body?: string | Buffer }} Answer */
/** @typedef {{ headers: import('node:http').IncomingHttpHeaders, body: string }} Request */

/**
 * Answers by method and path.
 * @type {Record<string, (request: Request) => Answer | Promise<Answer>>}
 */
const routes = {
  'GET /': () => file(publicFolder, 'index.html'),
  'GET /page.js': () => file(publicFolder, 'page.js'),
  async 'GET /chat'({ headers }) {
    const account = callerOf(headers)
    if (!account) return { status: 401 }
    const { id, name } = account
    const others = otherAccounts(id).map(async (other) => ({
      name: other.name,
      userId: await userIdOf(other),
    }))
    return json({
      ...service,
      name,
      userId: await userIdOf(account),
      others: await Promise.all(others),
    })
  },

  'POST /log-in'({ body }) {
    const { name, password } = JSON.parse(body)
    const session = logIn(String(name), String(password))
    if (session === null) return { status: 403 }
    return { status: 204, headers: { 'set-cookie': cookie(session) } }
  },

  async 'POST /chat-token'({ headers, body }) {
    const account = callerOf(headers)
    if (!account) return { status: 401 }
    const { deviceGuid } = JSON.parse(body)
    return { body: await issueToken(account, deviceGuid) }
  },

  async 'POST /log-out-everywhere'({ headers }) {
    const account = callerOf(headers)
    if (!account) return { status: 401 }
    // The sessions first: a page whose token has ended must not get another one.
    logOutEverywhere(account)
    await revokeTokens(account)
    return { status: 204, headers: { 'set-cookie': `${cookie('')}; Max-Age=0` } }
  },

  'POST /webhook'({ headers, body }) {
    const event = verified(headers, body)
    if (event === null) return { status: 401 }
    console.log(`${event.type} ${event.data.content ?? ''}`)
    return { status: 204 }
  },
}

createServer(async (request, response) => {
  const { method = '', url = '/', headers } = request
  const path = new URL(url, 'http://backend').pathname
  try {
    const route = routes[`${method} ${path}`]
    const isModule = method === 'GET' && /^\/client\/[\w/-]+\.js$/.test(path)
    const answer = isModule
      ? await file(clientFolder, path.slice('/client/'.length))
      : route
        ? await route({ headers, body: await bodyOf(request) })
        : { status: 404 }
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body)
  } catch (error) {
    console.error(error)
    response.writeHead(error instanceof SyntaxError ? 400 : 502).end()
  }
}).listen(Number(PORT), '127.0.0.1', () => console.log(`http://localhost:${PORT}`))

/** @param {import('node:http').IncomingMessage} request */
async function bodyOf(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new SyntaxError('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/**
 * The account of the cookie. SameSite keeps other sites from using it.
 * @param {Request['headers']} headers
 */
function callerOf({ cookie = '' }) {
  return accountOf(/(?:^|; )session=([\w-]+)/.exec(cookie)?.[1])
}

/** @param {string} session */
function cookie(session) {
  return `session=${session}; HttpOnly; SameSite=Strict; Path=/`
}

/**
 * Returns the event of a request; null: the service has not signed it.
 * @param {Request['headers']} headers
 * @param {string} body
 * @returns {{ type: string, data: { content?: string } } | null}
 */
function verified(headers, body) {
  if (WEBHOOK_SECRET === '') return null
  try {
    return /** @type {any} */ (
      new Webhook(WEBHOOK_SECRET).verify(body, /** @type {any} */ (headers))
    )
  } catch {
    return null
  }
}

/**
 * @param {string} folder
 * @param {string} path
 * @returns {Promise<Answer>}
 */
async function file(folder, path) {
  const body = await readFile(join(folder, path)).catch(() => null)
  if (body === null) return { status: 404 }
  const type = path.endsWith('.html') ? 'text/html' : 'text/javascript'
  return { headers: { 'content-type': `${type}; charset=utf-8` }, body }
}

/**
 * @param {object} value
 * @returns {Answer}
 */
function json(value) {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}
