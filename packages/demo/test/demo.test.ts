/**
 * `hermod demo` in a real browser: the scene, and the page of examples/chat as users of a keyboard
 * and of screen readers have it.
 */
import { readdirSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { Child, isFullRun, TempFolder, testChromium, waitFor } from '@hermod/testkit'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  hermodEnvironment,
  hermodScript,
  runHermod,
} from '../../server/test/support/hermod-command.js'
import { type RunningDemo, startDemo } from '../dist/demo.js'
import { Stage } from '../dist/scene/stage.js'
import { steps } from '../dist/scene/steps.js'
import { focusText, tabTo, violations } from '../../server/test/support/page-checks.js'

const executablePath = testChromium()

let demo: RunningDemo

beforeAll(async () => {
  demo = await startDemo({ port: 0 })
})

afterAll(() => demo?.stop())

describe('the server of the demo', () => {
  it('serves a page that loads and runs nothing from elsewhere', async () => {
    const { headers } = await fetch(demo.url)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; .*script-src 'self'/,
    )
  })

  it('gives the tokens to its own page only', async () => {
    const address = `${demo.url}/session.json`
    const response = await fetch(address, { headers: { origin: 'https://example.org' } })
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(await response.json()).toMatchObject({ users: [{ name: 'Ada' }, { name: 'Ben' }] })
    expect(await statusUnder(address, 'example.org')).toBe(403)
  })
})

describe.runIf(executablePath !== null)('the page of the demo', () => {
  const shots = new TempFolder('demo-shots')
  let browser: Browser
  let stage: Stage

  beforeAll(async () => {
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    browser = await chromium.launch({ executablePath: executablePath ?? '', args })
    stage = await Stage.open(browser, demo.url, shots.path)
  })

  afterAll(async () => {
    await browser?.close()
    shots[Symbol.dispose]()
  })

  it('has nothing that axe finds in light and dark and at 390 pixels', async () => {
    const { ada, ben, page } = stage
    await ada.open('Ben')
    await ben.open('Lake hike')
    await ada.show('People')
    const found = isFullRun ? [await violations(page)] : []
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    if (isFullRun) found.push(await violations(page))
    await stage.setNarrow(true)
    found.push(await violations(page))
    await stage.setNarrow(false)
    await page.getByRole('button', { name: 'Use the light theme' }).click()
    expect(found.flat()).toEqual([])
  })

  if (isFullRun)
    it('plays the scene of both users and saves screenshots', async () => {
      for (const { isSlow, play } of steps) if (!isSlow) await play(stage)
      const names = ['assistant', 'back', 'dark', 'offline', 'two-users']
      const narrow = ['mobile-conversation', 'mobile-list']
      expect(readdirSync(shots.path).sort()).toEqual(
        [...names, ...narrow].map((name) => `demo-${name}.png`).sort(),
      )
      for (const name of readdirSync(shots.path))
        expect(statSync(join(shots.path, name)).size).toBeGreaterThan(5_000)
    })

  it('sends a message with the keyboard alone', async () => {
    const { ada, ben, page } = stage
    await page.reload()
    await ada.item('Ben').waitFor()
    await ben.open('Ada')
    await page.evaluate('document.activeElement.blur()')
    await tabTo(page, '[data-item]')
    await ada.keys('End', 'Home')
    for (let moves = 0; moves < 5 && !(await focusText(page)).includes('Ben'); moves++)
      await ada.keys('ArrowDown')
    await ada.keys('Enter')
    await page.keyboard.type('By keyboard')
    await ada.keys('Enter')
    await ben.message('By keyboard').waitFor()
    await ada.keys('Escape')
    expect(await focusText(page)).toContain('Ben')
  })
})

describe('hermod demo', () => {
  it('ends at Ctrl+C without an error and removes its data', async () => {
    using folder = new TempFolder('demo-end')
    const line = [process.execPath, hermodScript, 'demo', '--port', '0'] as const
    const child = new Child(line, { env: hermodEnvironment({ TMPDIR: folder.path }) })
    const isStarted = () => child.output().includes('Two users in one window: http://127.0.0.1:')
    await waitFor(isStarted, { what: 'the start of the demo', timeoutMs: 60_000 })
    expect(readdirSync(folder.path)).toHaveLength(1)
    child.signal('SIGINT')
    expect(await child.exited).toMatchObject({ code: 0 })
    expect(readdirSync(folder.path)).toEqual([])
    expect(child.output()).not.toMatch(/hm[uao]_/)
  })
})

describe('hermod demo --headless', () => {
  it('says that it needs a browser, and leaves no data behind', async () => {
    using folder = new TempFolder('demo-none')
    const settings = { PATH: folder.path, TMPDIR: folder.path }
    const { code, err } = await runHermod(['demo', '--headless'], settings)
    expect(code).toBe(1)
    expect(err).toMatch(
      /^hermod: demo --headless needs Chromium or Chrome, and none was found in PATH/,
    )
    expect(readdirSync(folder.path)).toEqual([])
  })

  if (isFullRun && executablePath !== null)
    it('plays every step, and shows no token', async () => {
      const line = [process.execPath, hermodScript, 'demo', '--headless', '--port', '0'] as const
      const child = new Child(line, { env: hermodEnvironment({}) })
      const { code } = await child.exited
      const lines = child.output().trim().split('\n')
      expect([code, lines.slice(1, -1)]).toEqual([0, steps.map(({ text }) => text)])
      expect(child.output()).not.toContain('hmu_')
    })
})

/** Requests an address of this machine under another name. */
function statusUnder(address: string, name: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(address, { headers: { host: `${name}:80` }, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', reject)
  })
}
