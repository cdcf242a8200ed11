/** The steps of docs/guides/first-chat.md: Vite serves the page, and two users chat in Chromium. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { testChromium } from '@hermod/testkit'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { type Block, programOf } from '../../../../scripts/docs/src/blocks.js'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { GuideShell } from '../../../server/test/support/guides/guide-shell.js'
import { PackageRegistry } from '../support/package-registry.js'

const root = join(import.meta.dirname, '../../../..')
const executablePath = testChromium()
const blocks = blocksRunBy(import.meta.filename)

function blockWith(text: string): Block {
  const found = blocks.find((block) => block.text.includes(text))
  if (!found) throw new Error(`the page has no block with ${text}`)
  return found
}

/** Makes the folder `chat`, for which a registry has the packages of this build. */
async function install(shell: GuideShell): Promise<void> {
  const block = blockWith('npm install')
  using registry = await PackageRegistry.start(['protocol', 'client'])
  mkdirSync(join(shell.folder.path, 'chat'))
  shell.write('chat/.npmrc', `@hermod:registry=${registry.url}\nfund=false\naudit=false\n`)
  await shell.run({ ...block, text: block.text.replace('mkdir chat\n', '') })
}

async function open(profile: BrowserContext, address: string): Promise<Page> {
  const page = await profile.newPage()
  page.setDefaultTimeout(30_000)
  await page.goto(address)
  await page.getByRole('status').getByText('online').waitFor()
  return page
}

async function write(page: Page, text: string): Promise<void> {
  const field = page.getByLabel('Message')
  await field.fill(text)
  await field.press('Enter')
}

if (executablePath !== null)
  it('first chat: two windows chat by a page that Vite serves, also after the service was away', async () => {
    await using shell = await GuideShell.start()
    await install(shell)
    for (const block of blocks)
      if (block.file !== undefined) shell.write(`chat/${block.file}`, programOf(block))
    const address = await shell.serve(blockWith('npx vite\n'), /http:\/\/localhost:\d+\//)

    // Root has no sandbox.
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    const browser = await chromium.launch({ executablePath, args })
    try {
      const [alices, bobs] = [await browser.newContext(), await browser.newContext()]
      const alice = await open(alices, `${address}#alice,bob`)
      const bob = await open(bobs, `${address}#bob,alice`)
      await write(alice, 'Hello Bob')
      await bob.getByText('Hello Bob').waitFor()
      await alice.getByText('Hello Bob read').waitFor()

      await shell.server.stop()
      await write(bob, 'Are you back?')
      await bob.getByText('Are you back? sending').waitFor()
      shell.server = await shell.server.startAgain()
      await alice.getByText('Are you back?').waitFor()
      expect(await alice.getByRole('listitem').allInnerTexts()).toEqual([
        'Hello Bob read',
        'Are you back?',
      ])
    } finally {
      await browser.close()
    }
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const options = '--noEmit --strict --skipLibCheck --target es2023 --lib es2023,dom,dom.iterable'
    const modules = '--module esnext --moduleResolution bundler'
    await shell.do(`node ${compiler} ${options} ${modules} main.ts`)
    await shell.run(blockWith('npx vite build'))
    const built = readFileSync(join(shell.folder.path, 'chat/dist/index.html'), 'utf8')
    expect(built).toMatch(/src="\/assets\/index-[\w-]+\.js"/)
  })
