/** The programs of docs/guides/client.md and README.md: each is type-checked and run as it stands there. */
import { join } from 'node:path'
import { createClient } from '@hermod/client'
import { Child, type ServerProcess, startServer, testChromium, waitFor } from '@hermod/testkit'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { renderToString } from 'react-dom/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientErrors } from '../../dist/errors.js'
import { bundle } from './bundle.js'
import { GuideFolder, guide, programs } from './programs.js'
import { renderedPage } from './rendered-page.js'
import { Site } from './site.js'

const root = join(import.meta.dirname, '../../../..')
const executablePath = testChromium()
const password = 'change-me-soon'

let server: ServerProcess
let folder: GuideFolder
const children: Child[] = []

beforeAll(async () => {
  server = await startServer({ appId: 'hermod' })
  folder = new GuideFolder()
  for (const [name, text] of programs) folder.write(name, text)
})

afterAll(async () => {
  for (const child of children) child.killTree()
  folder?.[Symbol.dispose]()
  await server?.[Symbol.asyncDispose]()
})

let lastUser = 0

/** Registers a user with the password of the guide. */
async function newUser(
  name: string,
  username = `${name}_${++lastUser}`,
): Promise<{ readonly name: string; readonly id: number }> {
  const body = { username, password }
  const { data } = await server.api.admin().succeed('POST', '/user/register/v2', { body })
  return { name: username, id: Number(data.user_id) }
}

function run(program: string, ...args: readonly (string | number)[]): Child {
  const command = [process.execPath, program, ...args.map(String)] as [string, ...string[]]
  const child = new Child(command, { cwd: folder.path })
  children.push(child)
  return child
}

async function printed(child: Child, line: string | RegExp): Promise<void> {
  const has = () => child.output().match(line) !== null
  await waitFor(has, { what: String(line), timeoutMs: 20_000 }).catch((cause) => {
    throw new Error(`the program printed:\n${child.output()}`, { cause })
  })
}

/** Texts of a direct conversation, oldest first, by HTTP. */
async function textsBetween(reader: number, other: number): Promise<string[]> {
  const query = { opposite_id: other, msg_id_start: 0, limit: 20 }
  const caller = server.api.admin({ userId: reader })
  const { data } = await caller.succeed('GET', '/message/conversation', { query })
  return data.messages.map(({ content }: { content: string }) => content).toReversed()
}

async function say(sender: number, target: number, content: string): Promise<void> {
  const body = { type: 1, targets: [target], content_type: 0, content }
  await server.api.admin({ userId: sender }).succeed('POST', '/message/send', { body })
}

describe('the programs of the guide', () => {
  it('fit the types of the package', async () => {
    expect([...programs.keys()].sort()).toEqual([
      'app.tsx',
      'backend.mjs',
      'bot.mjs',
      'errors.ts',
      'group.mjs',
      'index.html',
      'offline.mjs',
      'orders.ts',
      'picture.mjs',
      'start.mjs',
      'tokens.ts',
    ])
    folder.write('page.mjs', scriptOf(programs.get('index.html') ?? ''))
    const options = {
      target: 'es2023',
      module: 'nodenext',
      lib: ['es2023', 'dom', 'dom.iterable'],
      jsx: 'react-jsx',
      types: ['node'],
      noEmit: true,
      skipLibCheck: true,
    }
    // Programs in TypeScript are strict; those in JavaScript do not test for undefined.
    const strict = { compilerOptions: { ...options, strict: true }, include: ['*.ts', '*.tsx'] }
    const loose = {
      compilerOptions: { ...options, strict: false, allowJs: true, checkJs: true },
      include: ['*.mjs'],
    }
    for (const [name, config] of Object.entries({ strict, loose })) {
      folder.write(`${name}.json`, JSON.stringify(config))
      const check = run(join(root, 'node_modules/typescript/bin/tsc'), '-p', `${name}.json`)
      expect([await check.exited, check.output()]).toEqual([{ code: 0, signal: null }, ''])
    }
  })

  it('the twelve lines of the README send a message and show it', async () => {
    const [alice, bob] = [await newUser('alice', 'alice'), await newUser('bob', 'bob')]
    const text = onThisServer(programs.get('start.mjs') ?? '')
    expect(text.trim().split('\n')).toHaveLength(12)
    folder.write('start.mjs', text)
    const program = run('start.mjs')
    await printed(program, "[ 'Hello Bob' ]")
    await waitFor(async () => (await textsBetween(bob.id, alice.id)).length === 1, {
      what: 'the message',
      timeoutMs: 10_000,
    })
  })

  it('a message that was written offline is sent after the next connection', async () => {
    const [alice, bob] = [await newUser('alice'), await newUser('bob')]
    const program = run('offline.mjs', server.url, alice.name, bob.name)
    await printed(program, 'written offline: sending')
    await printed(program, 'written offline: sent')
    expect(await textsBetween(bob.id, alice.id)).toEqual(['written offline'])
  })

  it('a picture is uploaded with progress, sent, and shown by its address', async () => {
    const [alice, bob] = [await newUser('alice'), await newUser('bob')]
    const program = run('picture.mjs', server.url, alice.name, bob.name)
    await printed(program, /\d+ of 42 bytes/)
    await printed(program, /^http\S+$/m)
    const [address = ''] = /^http\S+$/m.exec(program.output()) ?? []
    const picture = await fetch(address)
    expect([picture.status, picture.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching('image/'),
    ])
  })

  it('a group has an announcement and an admin, and the user who is none is named', async () => {
    const [alice, bob] = [await newUser('alice'), await newUser('bob')]
    await printed(run('group.mjs', server.url, alice.name, bob.name), /\[ '1: .+' \]/)
  })

  it('the bot answers a message', async () => {
    const [alice, bot] = [await newUser('alice'), await newUser('bot')]
    const program = run('bot.mjs', server.url, bot.name)
    await printed(program, 'the bot is connected')
    await say(alice.id, bot.id, 'Hello')
    const answers = () => textsBetween(alice.id, bot.id)
    await waitFor(async () => (await answers()).length === 2, {
      what: 'an answer',
      timeoutMs: 10_000,
    })
    expect(await answers()).toEqual(['Hello', 'You said: Hello'])
  })

  it('the backend sends for a user, and ends', async () => {
    const [shop, alice] = [await newUser('shop'), await newUser('alice')]
    const program = run('backend.mjs', server.url, server.adminToken, shop.id, alice.id)
    expect([await program.exited, program.output()]).toEqual([
      { code: 0, signal: null },
      `${shop.name} 1\n`,
    ])
    expect(await textsBetween(alice.id, shop.id)).toEqual(['Your order is on its way'])
  })

  it('the table of errors has every error of the client with its code', () => {
    const rows = [...guide.matchAll(/^\| (-\d+) \| `(\w+)` \|/gm)]
    expect(Object.fromEntries(rows.map(([, code, name]) => [name, Number(code)]))).toEqual(
      clientErrors,
    )
  })
})

describe.runIf(executablePath !== null)('the pages of the guide', () => {
  let browser: Browser
  let profile: BrowserContext
  let site: Site
  /** Requests of tokens by the page, and the valid one. */
  let token = { requests: [] as string[], valid: '' }

  beforeAll(async () => {
    site = await Site.start(folder.path, (path) => {
      if (!path.startsWith('/chat-token')) return undefined
      token.requests.push(path)
      return token.requests.length === 1 ? 'an expired token' : token.valid
    })
    // Root has no sandbox.
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    browser = await chromium.launch({ executablePath: executablePath ?? '', args })
    profile = await browser.newContext()
  })

  afterAll(async () => {
    await browser?.close()
    site?.[Symbol.dispose]()
  })

  async function open(address: string): Promise<Page> {
    const page = await profile.newPage()
    await page.goto(site.url + address)
    return page
  }

  it('two tabs chat without a bundler, and see what is read', async () => {
    const [alice, bob] = [await newUser('alice'), await newUser('bob')]
    folder.write('index.html', onThisServer(programs.get('index.html') ?? ''))
    const [ofAlice, ofBob] = [
      await open(`#${alice.name},${bob.name}`),
      await open(`#${bob.name},${alice.name}`),
    ]
    await write(ofAlice, 'Hello Bob')
    await ofBob.getByText(`${alice.name}: Hello Bob`).waitFor()
    await write(ofBob, 'Hello Alice')
    await ofAlice.getByText(`${bob.name}: Hello Alice`).waitFor()
    await ofAlice.getByText(`${alice.name}: Hello Bob (read)`).waitFor()
    expect(await textsBetween(alice.id, bob.id)).toEqual(['Hello Bob', 'Hello Alice'])
  })

  it('the list of React shows a conversation and its unread messages', async () => {
    const [alice, bob] = [await newUser('alice'), await newUser('bob')]
    await say(bob.id, alice.id, 'Hello Alice')
    folder.write('start.tsx', startOf(alice.id))
    const page = await open(await bundledPage('start.tsx'))
    await page.getByText(/: Hello Alice 1$/).waitFor()
    await say(bob.id, alice.id, 'Are you there?')
    await page.getByText(/: Are you there\? 2$/).waitFor()
  })

  it('a page that a server has rendered hydrates, and then shows what the client knows', async () => {
    const [alice, bob] = [await newUser('alice'), await newUser('bob')]
    await say(bob.id, alice.id, 'Hello Alice')
    const options = { url: server.url, appId: 'hermod', userId: alice.id, storage: 'memory' }
    const onServer = createClient({ ...options, storage: 'memory', token: () => 'none' })
    const html = renderToString(renderedPage(onServer, bob.id))
    folder.write('hydrated.js', await bundle(join(import.meta.dirname, 'hydrated-page.ts')))
    const data = JSON.stringify({ ...options, token: server.adminToken, peer: bob.id })
    folder.write(
      'hydrated.html',
      `<!doctype html><title>errors: </title><body data-options='${data}'><main>${html}</main>
      <script type="module" src="/hydrated.js"></script>`,
    )
    const page = await open('hydrated.html')
    await page.getByText('["online",[1],["Hello Alice"],1,true,false,true]').waitFor()
    expect(await page.title()).toBe('errors:')
    await onServer.close()
  })

  it('a refused token is requested again, and a call without a connection may be tried again', async () => {
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    token = { requests: [], valid: alice.token }
    folder.write('tokens.ts', onThisServer(programs.get('tokens.ts') ?? ''))
    folder.write('calls.ts', callsOf(bob.id))
    const page = await open(await bundledPage('calls.ts'))
    await page.getByText('Please try again.').waitFor()
    const errors: string[] = []
    page.on('pageerror', ({ message }) => errors.push(message))
    // The client of the page is closed, so the browser's signals do not concern it.
    await page.evaluate("dispatchEvent(new Event('pagehide'))")
    expect(errors).toEqual([])
    const [first, second] = token.requests
    expect(first).toMatch(/^\/chat-token\?device=[\w-]*$/)
    expect(second).toBe(first)
  })
})

function scriptOf(html: string): string {
  const [, script = ''] = /<script type="module">\n(.*?)<\/script>/s.exec(html) ?? []
  return script
}

function onThisServer(text: string): string {
  return text.replaceAll('http://127.0.0.1:8080', server.url)
}

async function write(page: Page, text: string): Promise<void> {
  // The page logs in before it takes messages.
  await page.waitForFunction("document.querySelector('input').onchange !== null")
  const field = page.getByLabel('Message')
  await field.fill(text)
  await field.press('Enter')
}

/** A start of the React app of the guide, with a client of the Admin token. */
function startOf(userId: number): string {
  const options = { url: server.url, appId: 'hermod', userId, storage: 'memory' }
  return `import { createClient } from '@hermod/client'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
const client = createClient({ ...${JSON.stringify(options)}, token: () => '${server.adminToken}' })
client.connect()
createRoot(document.getElementById('root')).render(<App client={client} />)
`
}

/** A page that adds a contact after its connection has ended, and shows the outcome. */
function callsOf(peer: number): string {
  return `import { addContact } from './errors.ts'
import { client } from './tokens.ts'
await client.connect()
client.disconnect()
const outcome = await addContact(client, ${peer})
await client.close()
document.body.textContent = outcome
`
}

/** Bundles a program. @returns the address of its page */
async function bundledPage(program: string): Promise<string> {
  const script = `${program}.js`
  folder.write(script, await bundle(join(folder.path, program)))
  const html = `<!doctype html><body><div id="root"></div><script type="module" src="/${script}"></script>`
  folder.write(`${program}.html`, html)
  return `${program}.html`
}
