/** The pages of the guide for Vue, Svelte and Next.js: each is type-checked, built, and chats in Chromium. */
import { join } from 'node:path'
import { Child, isFullRun, type ServerProcess, startServer, testChromium } from '@hermod/testkit'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle } from './bundle.js'
import { GuideFolder, programsOfPage } from './programs.js'
import { Site } from './site.js'

const root = join(import.meta.dirname, '../../../..')
const executablePath = testChromium()
const password = 'change-me-soon'
const mode = 'development'

/** A start of the page of Next.js, without Next.js. */
const renderPage = `import { renderToString } from 'react-dom/server'
import Page from './page'
console.log(renderToString(<Page />))
`
const hydratePage = `import { hydrateRoot } from 'react-dom/client'
import Page from './page'
const onRecoverableError = console.error
hydrateRoot(document.getElementById('app')!, <Page />, { onRecoverableError })
`

let server: ServerProcess
let folder: GuideFolder

beforeAll(async () => {
  server = await startServer({ appId: 'hermod' })
  folder = new GuideFolder()
  for (const framework of ['vue', 'svelte', 'next'])
    for (const [name, text] of programsOfPage(framework))
      folder.write(`${framework}/${name}`, text.replaceAll('http://127.0.0.1:8080', server.url))
  folder.write('next/app/render.tsx', renderPage)
  folder.write('next/app/hydrate.tsx', hydratePage)
})

afterAll(async () => {
  folder?.[Symbol.dispose]()
  await server?.[Symbol.asyncDispose]()
})

/** Runs a program to its end. @returns what it has printed */
async function outputOf(...args: readonly string[]): Promise<string> {
  const child = new Child([process.execPath, ...args], { cwd: folder.path })
  const { code } = await child.exited
  const output = child.output()
  expect(code, output).toBe(0)
  return output
}

it('the pages for frameworks: their modules fit the types of the package', async () => {
  folder.write(
    'components.d.ts',
    `declare module '*.vue' { const component: import('vue').Component; export default component }
    declare module '*.svelte' { const component: import('svelte').Component; export default component }`,
  )
  const compilerOptions = {
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom', 'dom.iterable'],
    jsx: 'react-jsx',
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  }
  const include = ['**/*.ts', '**/*.tsx']
  folder.write('tsconfig.json', JSON.stringify({ compilerOptions, include }))
  expect(await outputOf(join(root, 'node_modules/typescript/bin/tsc'))).toBe('')
})

it('the page for Next.js renders in Node without a connection, and the process ends', async () => {
  expect(await renderedPage()).toMatch(/<p role="status">idle<\/p>.*aria-label="Find a user"/)
})

const pages = [
  ['vue', 'src/main.ts'],
  ['svelte', 'src/main.ts'],
  ['next', 'app/hydrate.tsx'],
] as const
/** One that also hydrates; all of them use the same views of the client. */
const short = 'next'

it.each(pages.filter(([framework]) => !isFullRun && framework !== short))(
  '%s: is built without an error',
  async (framework, start) => {
    expect(await bundle(join(folder.path, framework, start), { mode })).toContain('createClient')
  },
)

describe.runIf(executablePath !== null)('the pages for frameworks in Chromium', () => {
  let browser: Browser
  let site: Site

  beforeAll(async () => {
    site = await Site.start(folder.path)
    // Root has no sandbox.
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    browser = await chromium.launch({ executablePath: executablePath ?? '', args })
  })

  afterAll(async () => {
    await browser?.close()
    site?.[Symbol.dispose]()
  })

  it.each(pages.filter(([framework]) => isFullRun || framework === short))(
    '%s: two users chat, and a reload keeps the messages',
    async (framework, start) => {
      const html = framework === 'next' ? await renderedPage() : ''
      const script = await bundle(join(folder.path, framework, start), { mode })
      folder.write(`${framework}.js`, script)
      folder.write(
        `${framework}.html`,
        `<!doctype html><link rel="icon" href="data:,"><div id="app">${html}</div>
      <script type="module" src="/${framework}.js"></script>`,
      )
      const [toAlice, toBob] = [`alice_${framework}`, `bob_${framework}`]
      for (const username of [toAlice, toBob]) {
        const body = { username, password }
        await server.api.admin().succeed('POST', '/user/register/v2', { body })
      }
      await using profile = await browser.newContext()
      const problems = problemsOf(profile)
      const address = `${site.url}${framework}.html`
      const [alice, bob] = await Promise.all([
        open(profile, `${address}#${toAlice}`),
        open(profile, `${address}#${toBob}`),
      ])

      await field(alice, 'Find a user', toBob)
      await field(alice, 'Message', 'Hello Bob')
      await bob.getByRole('button', { name: `${toAlice} 1` }).click()
      await bob.getByRole('separator', { name: 'New messages' }).waitFor()
      await alice.getByText('Hello Bob read').waitFor()

      await bob.getByLabel('Message', { exact: true }).pressSequentially('Hi')
      await alice.getByText(`${toBob} is typing`).waitFor()
      await bob.getByLabel('Message', { exact: true }).press('Enter')
      await alice.getByText('Hi', { exact: true }).waitFor()
      expect(await alice.getByRole('separator').count()).toBe(0)
      expect(await bob.getByRole('separator').count()).toBe(1)

      await bob.reload()
      await bob.getByRole('button', { name: toAlice }).click()
      await bob.getByText('Hi read').waitFor()
      expect(await bob.getByRole('listitem').allInnerTexts()).toEqual(['Hello Bob', 'Hi read'])
      expect(await bob.getByRole('separator').count()).toBe(0)
      expect(problems).toEqual([])
    },
  )
})

/** The page for Next.js as a server renders it. */
async function renderedPage(): Promise<string> {
  const render = join(folder.path, 'next/app/render.tsx')
  folder.write('render.mjs', await bundle(render, { mode, platform: 'node' }))
  return (await outputOf('render.mjs')).trim()
}

/** Collects what pages report as errors and warnings, such as differences of a hydration. */
function problemsOf(profile: BrowserContext): readonly string[] {
  const problems: string[] = []
  profile.on('weberror', (error) => problems.push(String(error.error())))
  profile.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  return problems
}

async function open(profile: BrowserContext, address: string): Promise<Page> {
  const page = await profile.newPage()
  page.setDefaultTimeout(20_000)
  await page.goto(address)
  await page.getByRole('status').getByText('online').waitFor()
  return page
}

async function field(page: Page, label: string, text: string): Promise<void> {
  const input = page.getByLabel(label, { exact: true })
  await input.fill(text)
  await input.press('Enter')
}
