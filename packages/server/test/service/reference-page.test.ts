/** The page /docs in a real browser, as its readers use it, with keyboards and on phones too. */
import { anyBackend, isFullRun, type Session, testChromium } from '@hermod/testkit'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'
import { tabTo, violations } from '../support/page-checks.js'
import {
  answerSample,
  leaveOpenOperation,
  sample,
  shoot,
  speed,
  widestPart,
} from '../support/reference-page.js'

const blocked = answerCode.blocked_by_recipient
const executablePath = testChromium()

const [backend] = anyBackend()
if (backend === undefined) throw new Error('no database')
const server = sharedServer(backend)

describe.runIf(executablePath !== null)('the page /docs', () => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  /** Breaches of the policy of the page, failures of its scripts, and requests to other hosts. */
  const faults: string[] = []

  beforeAll(async () => {
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    browser = await chromium.launch({ executablePath: executablePath ?? '', args })
    context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    page = await context.newPage()
    page.on('console', (message) => faults.push(message.text()))
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url)) faults.push(request.url())
    })
    if (!isFullRun) await context.route(`${server.url}/docs`, answerSample)
    await page.goto(`${server.url}/docs`)
  })

  afterEach(() => expect(faults.splice(0)).toEqual([]))

  afterAll(() => browser?.close())

  const filter = () => page.locator('#filter')
  const found = () => page.locator('#list li:visible')
  const article = (id: string) => page.locator(`[id="${id}"]`)
  const focused = () => page.evaluate('document.activeElement.id')
  const isOnScreen = (id: string) =>
    page.evaluate((name) => {
      const { top, bottom } =
        document.getElementById(name)?.getBoundingClientRect() ?? new DOMRect()
      return top >= 0 && bottom > 0 && top < innerHeight
    }, id)

  it('list: has the method and the summary of each operation', async () => {
    const link = page.locator('#list a[href="#message.send"]')
    expect(await link.textContent()).toBe('POST /message/send Sends a message to users or groups.')
    await shoot(page, 'desktop')
  })

  it('start: shows the address of this installation', async () => {
    expect(await page.locator('.start').textContent()).toContain(
      `export HERMOD_URL=${server.url}\n`,
    )
  })

  it('filter: finds fields, scrolls to the best one and says why', async () => {
    await filter().fill('reply_to message/send')
    await page.locator('.hit').waitFor()
    expect(await page.locator('.best').textContent()).toMatch(
      /\/message\/send .*body reply_to: message that it replies to/,
    )
    expect(await isOnScreen('message.send:body.reply_to')).toBe(true)
    await shoot(page, 'filter')
    await filter().press('Enter')
    expect(new URL(page.url()).hash).toBe('#message.send:body.reply_to')
    expect(await focused()).toBe('message.send:body.reply_to')
  })

  it('filter: finds codes of errors with the operations that answer them', async () => {
    await filter().fill(String(blocked))
    const texts = await found().allTextContents()
    expect(texts.at(-1)).toMatch(new RegExp(`^${blocked}\\s+you have been blocked`))
    expect(texts.join('\n')).toMatch(
      new RegExp(`/message/send .*error ${blocked}: blocked_by_recipient`),
    )
  })

  it('filter: nothing found is shown, and Escape shows everything', async () => {
    await filter().fill('no such word')
    expect(await page.locator('#count').textContent()).toBe('0 hits')
    expect(await found().count()).toBe(0)
    await filter().press('Escape')
    expect(await page.locator('#count').textContent()).toBe('')
    expect(await found().count()).toBeGreaterThan(sample.length)
  })

  it('copy: puts the code of a block into the clipboard', async () => {
    const block = article('user.profile.get').locator('.code.curl')
    await block.getByRole('button', { name: 'Copy curl' }).click()
    await page.locator('#status:text-is("Copied")').waitFor()
    const text = await page.evaluate(() => navigator.clipboard.readText())
    expect(text).toMatch(/^curl -X GET "\$HERMOD_URL\/user\/profile\?[^"]*" \\\n/)
    expect(await block.locator('pre').textContent()).toBe(text)
  })

  it('examples: show the chosen language, and fetch where the client lacks the operation', async () => {
    const shown = (id: string) => article(id).locator('.code:not(.answer):visible figcaption')
    const language = page.getByLabel('Examples')
    expect(await shown('message.send').allTextContents()).toEqual(['curl'])
    await language.selectOption('TypeScript')
    expect(await shown('message.send').allTextContents()).toEqual(['TypeScript, fetch'])
    await language.selectOption('@hermod/client')
    expect(await shown('message.send').allTextContents()).toEqual(['TypeScript, @hermod/client'])
    expect(await shown('operator.app.list').allTextContents()).toEqual(['TypeScript, fetch'])
    await language.selectOption('curl')
  })

  describe('try it', () => {
    let ann: Session
    let ben: Session
    const form = () => article('message.send').locator('form')
    const result = () => form().locator('.result')
    const send = async (body: string) => {
      await form().getByLabel('JSON').fill(body)
      await form().getByRole('button', { name: 'Send' }).click()
    }

    beforeAll(async () => {
      ann = await server.api.newSession()
      ben = await server.api.newSession()
      await article('message.send').locator('.try').click()
      await form().getByLabel('app_id').fill(server.appId)
    })

    it('warns, and shows what is wrong', async () => {
      expect(await form().textContent()).toContain(`This sends a real call to ${server.url}`)
      await send('{')
      await result().getByText('The body is not JSON').waitFor()
      await send('{}')
      await result().getByText('access-token is missing').waitFor()
      const link = result().getByRole('link')
      expect(await article((await link.getAttribute('href'))?.slice(1) ?? '').count()).toBe(1)
    })

    it('sends a real message', async () => {
      await form().getByLabel('access-token').fill(ann.token)
      const body = { type: 1, content_type: 0, targets: [ben.id], content: 'From the page' }
      await send(JSON.stringify(body))
      await form().locator('.response', { hasText: '"code": 200' }).waitFor()
      expect(await result().textContent()).toMatch(/^HTTP 200, \d+ ms, x-request-id \S+$/)
      const query = { opposite_id: ann.id, msg_id_start: 0, limit: 1 }
      const { data } = await ben.api.succeed('GET', '/message/conversation', { query })
      expect(JSON.stringify(data)).toContain('From the page')
      await shoot(page, 'try-it')
    })

    it('keeps the token in memory: other forms have it, no storage, address or log does', async () => {
      await article('user.profile.get').locator('.try').click()
      const other = article('user.profile.get').locator('form')
      expect(await other.getByLabel('access-token').inputValue()).toBe(ann.token)
      await other.getByRole('button', { name: 'Send' }).click()
      await other.locator('.response', { hasText: '"code": 200' }).waitFor()
      const kept = await page.evaluate(async () => [
        location.href,
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
        JSON.stringify(await indexedDB.databases()),
        performance.getEntriesByType('resource').map(({ name }) => name),
      ])
      expect(JSON.stringify(kept)).not.toContain(ann.token)
      expect(server.output()).not.toContain(ann.token)
    })

    it('offers a file for saving only, whatever its type is', async () => {
      const svg = {
        contentType: 'image/svg+xml',
        body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
      }
      await page.route('**/user/profile*', (route) => route.fulfill(svg))
      await page.evaluate(`{
        const make = URL.createObjectURL
        URL.createObjectURL = (file) => make(file) + '#' + file.type
      }`)
      const download = article('user.profile.get')
      await download.getByRole('button', { name: 'Send' }).click()
      const link = download.getByRole('link', { name: 'Save the file' })
      expect(await link.getAttribute('href')).toMatch(/^blob:.*#application\/octet-stream$/)
      expect(await download.locator('.response').textContent()).toContain('image/svg+xml')
      await page.unroute('**/user/profile*')
    })

    it('shows a service that does not answer', async () => {
      await context.setOffline(true)
      await send('{}')
      await result().getByText('No answer').waitFor()
      await context.setOffline(false)
      faults.length = 0
    })

    it('closes with Escape, which gives the focus back', async () => {
      await form().getByLabel('JSON').press('Escape')
      expect(await form().count()).toBe(0)
      expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Try it/)
    })
  })

  it('keyboard: skip link, slash, arrows, Enter and Escape reach everything', async () => {
    await page.reload()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.hash')).toBe('#content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('/')
    expect(await focused()).toBe('filter')
    await page.keyboard.type('/message/recall')
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate('document.activeElement.hash')).toBe('#message.recall')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe(
      'none',
    )
    await page.keyboard.press('ArrowUp')
    expect(await focused()).toBe('filter')
    await page.keyboard.press('Enter')
    expect(await focused()).toBe('message.recall')
    await tabTo(page, '.copy')
    await page.keyboard.press('Enter')
    await page.locator('#status:text-is("Copied")').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await focused()).toBe('')
  })

  it.each([
    'message.send',
    'section-messages',
    'errors',
    'error-user_not_found',
    `error-${blocked}`,
    `message.send:error.${blocked}`,
    // In a folded list.
    'message.get:answer.data.message.reply_to',
  ])('deep link: #%s leads to its place', async (id) => {
    await page.evaluate((hash) => {
      location.hash = hash
    }, id)
    await expect.poll(() => isOnScreen(id)).toBe(true)
  })

  it('deep link: an address with an unreadable or unknown anchor opens the page', async () => {
    await page.goto(`${server.url}/docs#%E0%A4%A`)
    await page.evaluate("location.hash = '#nothing'")
    expect(await article('start').isVisible()).toBe(true)
  })

  it('phone: nothing is wider than 390 pixels, and the list opens and closes', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${server.url}/docs#message.send`)
    await shoot(page, 'mobile')
    expect(await page.locator('#list').isVisible()).toBe(false)
    await page.getByRole('button', { name: 'List', exact: true }).click()
    await filter().fill('recall')
    await shoot(page, 'mobile-list')
    await page.locator('#list a[href="#message.recall"]').click()
    expect(await page.locator('#list').isVisible()).toBe(false)
    await expect.poll(() => isOnScreen('message.recall')).toBe(true)
    await article('message.recall').locator('.try').click()
    expect(await page.evaluate(widestPart)).toBeLessThanOrEqual(390)
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  it('axe: finds nothing in light and dark', { timeout: 300_000 }, async () => {
    await page.goto(`${server.url}/docs#message.send`)
    await article('message.send').locator('.try').click()
    await filter().fill('message/send reply_to')
    await page.locator('.hit').waitFor()
    const whole = isFullRun ? await violations(page) : []
    await page.evaluate(leaveOpenOperation)
    const light = await violations(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await shoot(page, 'dark')
    const dark = await violations(page, { runOnly: 'color-contrast' })
    expect([...whole, ...light, ...dark]).toEqual([])
    await page.emulateMedia({ colorScheme: 'light' })
  })

  it('without scripts: everything can be read, and no control is shown', async () => {
    await using plain = await browser.newContext({ javaScriptEnabled: false })
    const read = await plain.newPage()
    if (!isFullRun) await read.route(`${server.url}/docs`, answerSample)
    await read.goto(`${server.url}/docs#message.send`)
    expect(await read.locator('[id="message.send"] .code').count()).toBeGreaterThan(3)
    expect(await read.locator('[id="message.send"] .code').first().isVisible()).toBe(true)
    expect(await read.locator('button:visible, input:visible').count()).toBe(0)
  })

  if (isFullRun)
    // An idle machine takes a fifth of it.
    it('speed: opens within 5 s, and answers a key within 250 ms, also on a busy machine', async () => {
      await page.goto('about:blank')
      await page.goto(`${server.url}/docs`)
      const [opened, ...keys] = await page.evaluate(speed)
      console.log(`opened in ${opened} ms; keys in ${keys.join(', ')} ms`)
      expect(opened).toBeLessThan(5_000)
      expect(keys.toSorted((a, b) => a - b)[Math.floor(keys.length / 2)]).toBeLessThan(250)
    })
})
