/** The client in Chromium: tabs that end, crash, hang and go offline, and pages without a store. */
import { isFullRun, testChromium } from '@hermod/testkit'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ChromiumProcess } from './chromium-process.js'
import { connected, Lab, type Pair, run, until, viewOf } from './lab.js'

const executablePath = testChromium()
const offlineMs = isFullRun ? 60_000 : 1_500

const range = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`)
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe.runIf(executablePath !== null)('a client in Chromium', () => {
  let lab: Lab
  let chromium: ChromiumProcess
  let context: BrowserContext

  beforeAll(async () => {
    lab = await Lab.start()
    chromium = await ChromiumProcess.start(executablePath ?? '')
    context = chromium.context
  })

  afterEach(async () => {
    lab.wire.restore()
    await context.setOffline(false)
    // One page stays: without any the browser ends.
    const [first, ...others] = context.pages()
    await first?.goto('about:blank')
    for (const page of others) await page.close()
  })

  afterAll(async () => {
    await chromium?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  /** Opens two pages of one user, and says which of them has the connection. */
  async function openTwo() {
    const pair = await lab.newPair()
    const leader = await lab.open(context, pair)
    const follower = await lab.open(context, pair)
    expect(await connected([leader, follower])).toEqual([leader])
    return { pair, leader, follower }
  }

  /** Names of the databases of Alice. */
  async function databasesOf(page: Page, { alice }: Pair): Promise<readonly string[]> {
    const names: readonly string[] = await page.evaluate(
      'indexedDB.databases().then((all) => all.map(({ name }) => name))',
    )
    return names.filter((name) => name.includes(`,${alice.id}]`))
  }

  it('shows in one tab what the server has, and keeps it for the next visit', async () => {
    const pair = await lab.newPair()
    await lab.bobSends(pair, 'hello')
    const page = await lab.open(context, pair)
    await run(page, 'send', 'hi')
    await lab.untilEqual(pair, [page], ['hello', 'hi'])
    expect(await viewOf(page)).toMatchObject({ isDurable: true, sockets: 1, errors: [] })

    lab.wire.cut()
    await page.reload()
    await lab.startClient(page, pair)
    await until(page, 'shows the store', ({ texts }) => texts.length === 2)
  })

  it('runs in a worker, which has no document, and shares the store with the page', async () => {
    const pair = await lab.newPair()
    await lab.bobSends(pair, 'hello')
    const page = await context.newPage()
    await page.goto(lab.pageUrl())
    expect(await lab.connectWorker(page, pair)).toEqual({ state: 'online', isDurable: true })
    await lab.startClient(page, pair)
    await lab.untilEqual(pair, [page], ['hello'])
    expect(await connected([page])).toEqual([])
  })

  it('has one connection and one device for two tabs, which show the same', async () => {
    const { pair, leader, follower } = await openTwo()
    const texts = ['from the leader', 'from the follower', 'from Bob']
    await run(leader, 'send', texts[0])
    await lab.untilEqual(pair, [follower], texts.slice(0, 1))
    await run(follower, 'send', texts[1])
    await lab.untilEqual(pair, [leader], texts.slice(0, 2))
    await lab.bobSends(pair, 'from Bob')
    await lab.untilEqual(pair, [leader, follower], texts)
    expect(await run<unknown[]>(follower, 'call', 'user.device.list')).toHaveLength(1)
  })

  it('continues in the other tab when the leader is closed', async () => {
    const { pair, leader, follower } = await openTwo()
    lab.wire.cut()
    await until(leader, 'is offline', ({ state }) => state !== 'online')
    await run(leader, 'send', 'before')
    await run(follower, 'send', 'after')
    lab.wire.restore()
    await leader.close()
    await lab.untilEqual(pair, [follower], ['before', 'after'])
    expect(await connected([follower])).toHaveLength(1)
  })

  it('continues in the other tab when the leader crashes', async () => {
    const { pair, leader, follower } = await openTwo()
    await run(leader, 'send', 'before')
    await lab.untilEqual(pair, [leader], ['before'])
    const crashed = leader.waitForEvent('crash')
    const session = await context.newCDPSession(leader)
    session.send('Page.crash').catch(() => {})
    await crashed
    await run(follower, 'send', 'after')
    await lab.untilEqual(pair, [follower], ['before', 'after'])
    expect(await connected([follower])).toHaveLength(1)
  })

  it('continues in the other tab when the browser freezes the leader, which follows when it thaws', async () => {
    const { pair, leader, follower } = await openTwo()
    const session = await context.newCDPSession(leader)
    await session.send('Page.setWebLifecycleState', { state: 'frozen' })
    await run(follower, 'send', 'while it is frozen')
    await lab.untilEqual(pair, [follower], ['while it is frozen'])
    await lab.bobSends(pair, 'from Bob')
    await lab.untilEqual(pair, [follower], ['while it is frozen', 'from Bob'])
    await session.send('Page.setWebLifecycleState', { state: 'active' })
    await lab.untilEqual(pair, [leader, follower], ['while it is frozen', 'from Bob'])
    expect(await connected([leader, follower])).toEqual([follower])
  })

  it('is current again after a step back in the history, which keeps the page', async () => {
    const pair = await lab.newPair()
    const page = await lab.open(context, pair)
    await page.goto(`${lab.pageUrl()}other`)
    await lab.bobSends(pair, 'while it was away')
    // The page is not loaded anew: its client is still there.
    await page.goBack({ waitUntil: 'commit' })
    await lab.untilEqual(pair, [page], ['while it was away'])
  })

  // It takes these 5 seconds.
  if (isFullRun)
    it('steals the connection from a leader that hangs for 5 seconds', async () => {
      const { pair, leader, follower } = await openTwo()
      const session = await context.newCDPSession(leader)
      await session.send('Debugger.enable')
      const paused = new Promise((resolve) => session.once('Debugger.paused', resolve))
      await session.send('Debugger.pause')
      await paused
      const start = performance.now()
      await run(follower, 'send', 'while it hangs')
      await lab.untilEqual(pair, [follower], ['while it hangs'])
      expect(performance.now() - start).toBeLessThan(12_000)
      await session.send('Debugger.disable')
      await run(leader, 'send', 'it runs again')
      await lab.untilEqual(pair, [leader, follower], ['while it hangs', 'it runs again'])
      expect(await connected([leader, follower])).toEqual([follower])
    })

  it(`catches up and sends what waits after ${offlineMs / 1_000} s offline`, async () => {
    const { pair, leader, follower } = await openTwo()
    await context.setOffline(true)
    lab.wire.cut()
    await until(follower, 'is offline', ({ state }) => state === 'offline')
    await run(leader, 'send', 'written offline')
    await run(follower, 'send', 'also offline')
    await lab.bobSends(pair, 'from Bob')
    await wait(offlineMs)
    expect((await viewOf(leader)).waiting).toEqual(['written offline', 'also offline'])
    lab.wire.restore()
    await context.setOffline(false)
    const texts = ['from Bob', 'written offline', 'also offline']
    await lab.untilEqual(pair, [leader, follower], texts)
  })

  it('keeps a full outbox over a reload, and sends all of it once and in order', async () => {
    const pair = await lab.newPair()
    const page = await lab.open(context, pair)
    lab.wire.cut()
    await until(page, 'is offline', ({ state }) => state === 'offline')
    const texts = range(60)
    await run(page, 'sendAll', texts)
    await page.reload()
    await lab.startClient(page, pair)
    await until(page, 'shows what waits', ({ waiting }) => waiting.length === 60)
    lab.wire.restore()
    await lab.untilEqual(pair, [page], texts)
  })

  it('keeps unsent messages when the browser empties its store under the open pages', async () => {
    const { pair, leader, follower } = await openTwo()
    await run(leader, 'send', 'before')
    await lab.untilEqual(pair, [leader, follower], ['before'])
    lab.wire.cut()
    await run(leader, 'send', 'while it is offline')
    const session = await context.newCDPSession(leader)
    const origin = new URL(lab.pageUrl()).origin
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
    for (const page of [leader, follower])
      await until(page, 'shows what waits', ({ waiting }) => waiting.length === 1)
    lab.wire.restore()
    await lab.untilEqual(pair, [leader, follower], ['before', 'while it is offline'])
    expect(await run<unknown[]>(follower, 'call', 'user.device.list')).toHaveLength(1)
  })

  it('deletes what is stored in all tabs when the user logs out in one', async () => {
    const { pair, leader, follower } = await openTwo()
    await run(leader, 'send', 'secret')
    await lab.untilEqual(pair, [leader, follower], ['secret'])
    await run(follower, 'logOut')
    for (const page of [leader, follower])
      await until(page, 'has ended', ({ sockets, state }) => sockets === 0 && state === 'ended')
    expect(await databasesOf(leader, pair)).toEqual([])
  })

  it('deletes what is stored at once when another tab is frozen, which ends when it thaws', async () => {
    const { pair, leader, follower } = await openTwo()
    const session = await context.newCDPSession(leader)
    await session.send('Page.setWebLifecycleState', { state: 'frozen' })
    await run(follower, 'send', 'secret')
    const start = performance.now()
    await run(follower, 'logOut')
    expect(performance.now() - start).toBeLessThan(4_000)
    expect(await databasesOf(follower, pair)).toEqual([])
    await session.send('Page.setWebLifecycleState', { state: 'active' })
    await until(leader, 'has ended', ({ state, texts }) => state === 'ended' && texts.length === 0)
  })

  it('continues in memory when the browser gives no more room, and says so', async () => {
    const pair = await lab.newPair()
    const page = await context.newPage()
    // An origin that no other test uses: the browser remembers for 30 s how much room there was.
    const address = lab.pageUrl('127.0.0.1')
    await page.goto(address)
    const session = await context.newCDPSession(page)
    const { origin } = new URL(address)
    const { usage } = await session.send('Storage.getUsageAndQuota', { origin })
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: usage + 40_000 })
    try {
      await lab.startClient(page, pair)
      await until(page, 'is current', ({ state }) => state === 'online')
      const texts = range(20).map((text) => `${text} ${'x'.repeat(4_000)}`)
      await run(page, 'sendAll', texts)
      await lab.untilEqual(pair, [page], texts)
      expect(await viewOf(page)).toMatchObject({ isDurable: false, state: 'online', errors: [] })
    } finally {
      await session.send('Storage.overrideQuotaForOrigin', { origin })
    }
  })

  it('is alone in each tab, in memory and without a device, on a page without a secure context', async () => {
    const pair = await lab.newPair()
    const pages = [
      await lab.open(context, pair, 'chat.test'),
      await lab.open(context, pair, 'chat.test'),
    ] as const
    expect(await pages[0].evaluate('isSecureContext')).toBe(false)
    expect(await connected(pages)).toEqual(pages)
    await run(pages[0], 'send', 'hello')
    await lab.untilEqual(pair, pages, ['hello'])
    expect(await viewOf(pages[1])).toMatchObject({ isDurable: false, errors: [] })
    expect(await run<unknown[]>(pages[0], 'call', 'user.device.list')).toEqual([])
  })

  if (isFullRun)
    it('shares one connection between the tabs of a private window, which keeps nothing', async () => {
      const pair = await lab.newPair()
      const window = await chromium.browser.newContext()
      const pages = [await lab.open(window, pair), await lab.open(window, pair)] as const
      await run(pages[1], 'send', 'hello')
      await lab.untilEqual(pair, pages, ['hello'])
      expect(await connected(pages)).toEqual([pages[0]])
      await window.close()

      lab.wire.cut()
      const next = await chromium.browser.newContext()
      const page = await next.newPage()
      await page.goto(lab.pageUrl())
      await lab.startClient(page, pair)
      await until(page, 'is offline', ({ state }) => state === 'offline')
      expect((await viewOf(page)).texts).toEqual([])
      await next.close()
    })
})
