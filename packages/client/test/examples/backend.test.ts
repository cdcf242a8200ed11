/** The backend of examples/backend, with a real server, webhooks and pages in Chromium. */
import { join } from 'node:path'
import {
  Child,
  freePort,
  type ServerProcess,
  startServer,
  testChromium,
  waitFor,
} from '@hermod/testkit'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const program = join(import.meta.dirname, '../../../../examples/backend/backend.js')
const executablePath = testChromium()

let server: ServerProcess
let backend: Child
let url: string
let browser: Browser | undefined

beforeAll(async () => {
  server = await startServer({ env: { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' } })
  const port = await freePort()
  url = `http://localhost:${port}`
  const endpoint = { url: `http://127.0.0.1:${port}/webhook`, kinds: ['message.stored'] }
  const { data } = await server.api.admin().succeed('POST', '/app/webhook/create', {
    body: endpoint,
  })
  const env = {
    ...process.env,
    HERMOD_URL: server.url,
    HERMOD_APP: server.appId,
    HERMOD_TOKEN: server.adminToken,
    WEBHOOK_SECRET: data.secret,
    PORT: String(port),
  }
  backend = new Child([process.execPath, program], { env })
  await printed(url)
})

afterAll(async () => {
  await browser?.close()
  backend?.killTree()
  await server?.[Symbol.asyncDispose]()
})

async function printed(text: string): Promise<void> {
  const has = () => backend.output().includes(text)
  await waitFor(has, { what: text, timeoutMs: 20_000 }).catch((cause) => {
    throw new Error(`the backend printed:\n${backend.output()}`, { cause })
  })
}

function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  return fetch(url + path, { method: 'POST', body: JSON.stringify(body), headers })
}

/** Logs in without a browser. @returns the header with the cookie */
async function logIn(name: string): Promise<{ readonly cookie: string }> {
  const answer = await post('/log-in', { name, password: `${name}'s password` })
  expect(answer.status).toBe(204)
  return { cookie: (answer.headers.get('set-cookie') ?? '').replace(/;.*/, '') }
}

it('gives tokens to its own users alone', async () => {
  expect((await post('/log-in', { name: 'alice', password: 'wrong' })).status).toBe(403)
  expect((await post('/log-in', { name: 'carol', password: '' })).status).toBe(403)
  expect((await post('/chat-token', { deviceGuid: 'a' })).status).toBe(401)
  expect((await post('/chat-token', { deviceGuid: 'a' }, { cookie: 'session=x' })).status).toBe(401)
  const alice = await logIn('alice')
  const [first, second] = [
    await (await post('/chat-token', { deviceGuid: 'a' }, alice)).text(),
    await (await post('/chat-token', { deviceGuid: 'a' }, alice)).text(),
  ]
  expect(await server.api.as(first).call('GET', '/user/profile')).toMatchObject({ code: 402 })
  const { data } = await server.api.as(second).succeed('GET', '/user/profile')
  expect(data.nick_name).toBe('alice')
})

it('refuses webhooks that the service has not signed', async () => {
  expect((await post('/webhook', { id: 'x', type: 'forged', data: {} })).status).toBe(401)
})

describe.runIf(executablePath !== null)('its pages', () => {
  beforeAll(async () => {
    // Root has no sandbox.
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    browser = await chromium.launch({ executablePath: executablePath ?? '', args })
  })

  /** A page of another browser, logged in. */
  async function open(name: string): Promise<Page> {
    const context = await browser?.newContext()
    const page = (await context?.newPage()) as Page
    await page.goto(url)
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Password').fill(`${name}'s password`)
    await page.getByText('Log in').click()
    await page.getByText(new RegExp(`^${name} and `)).waitFor()
    return page
  }

  async function write(page: Page, text: string): Promise<void> {
    await page.getByLabel('Message').fill(text)
    await page.getByLabel('Message').press('Enter')
  }

  it('chat, and show the log-in within seconds when their account logs out everywhere', async () => {
    const opened = await Promise.all([open('alice'), open('bob'), open('alice')])
    const [alice, bob, other] = opened
    await write(alice, 'Hello Bob')
    await bob.getByText('alice: Hello Bob').waitFor()
    await other.getByText('alice: Hello Bob').waitFor()
    await printed('message.stored Hello Bob')
    await write(bob, 'Hello Alice')
    await alice.getByText('bob: Hello Alice').waitFor()

    await other.getByText('Log out everywhere').click()
    for (const page of [other, alice])
      await page.getByLabel('Password').waitFor({ timeout: 10_000 })
    await write(bob, 'Are you there?')
    await bob.getByText('bob: Are you there?').waitFor()
    const again = await open('alice')
    await again.getByText('bob: Are you there?').waitFor()
  })
})
