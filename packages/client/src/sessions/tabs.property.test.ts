import { isFullRun } from '@hermod/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FakeBrowser, type FakePage, settle } from '../../test/support/fake-browser.js'

const kinds = [
  'crash',
  'close',
  'freeze',
  'thaw',
  'show',
  'hide',
  'suspend',
  'resume',
  'send',
  'call',
] as const

type Step =
  | { readonly type: 'open' }
  | { readonly type: (typeof kinds)[number]; readonly page: number }
  | { readonly type: 'wait'; readonly ms: number }
  /** Of ten messages between tabs, so many are lost from now on. */
  | { readonly type: 'lose'; readonly tenths: number }

const steps = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Step>({ type: 'open' }) },
    {
      weight: 12,
      arbitrary: fc.record({ type: fc.constantFrom(...kinds), page: fc.nat(4) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constant('send' as const), page: fc.nat(4) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.nat(12_000) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('lose' as const), tenths: fc.nat(4) }),
    },
  ),
  { maxLength: 40 },
)

interface Sent {
  readonly page: FakePage
  readonly transactionId: number
  outcome: 'none' | 'done' | 'failed'
}

/** Plays steps in a browser with one page, and lets the browser come to rest. */
async function play(all: readonly Step[], random: () => number) {
  const browser = new FakeBrowser()
  const closed = new Set<FakePage>()
  const suspended = new Set<FakePage>()
  const sent: Sent[] = []
  let transactionId = 0
  await browser.open()

  for (const step of all) {
    if (step.type === 'open') {
      if (browser.pages.length < 5) await browser.open()
    } else if (step.type === 'wait') await browser.advance(step.ms)
    else if (step.type === 'lose') browser.loss = () => random() * 10 < step.tenths
    else await act(step.type, browser.pages[step.page % browser.pages.length] as FakePage)
    if (random() < 0.5) await settle()
  }

  browser.loss = () => false
  for (const page of browser.pages) {
    page.thaw()
    if (suspended.has(page)) page.resume()
    page.show()
  }
  await browser.open({ isVisible: true })
  await browser.advance(60_000)
  const open = browser.pages.filter((page) => !page.isDead && !closed.has(page))
  return { browser, open, sent }

  async function act(type: (typeof kinds)[number], page: FakePage): Promise<void> {
    if (page.isDead || closed.has(page)) return
    if (page.isFrozen && ['close', 'suspend', 'send', 'call', 'show'].includes(type)) return
    switch (type) {
      case 'send': {
        const entry: Sent = { page, transactionId: ++transactionId, outcome: 'none' }
        sent.push(entry)
        page.send(entry.transactionId).then(
          () => {
            entry.outcome = 'done'
          },
          () => {
            entry.outcome = 'failed'
          },
        )
        break
      }
      case 'call':
        page.session.execute({ type: 'call', op: 'group.list', data: {} }).catch(() => {})
        break
      case 'close':
        closed.add(page)
        await page.session.close()
        break
      case 'suspend':
        suspended.add(page)
        page.suspend()
        break
      case 'resume':
        if (suspended.delete(page)) page.resume()
        break
      case 'thaw':
        if (!suspended.has(page)) page.thaw()
        break
      default:
        page[type]()
    }
  }
}

it('after any changes of the leader every tab equals the store, and each message of an open tab is sent and stored once', async () => {
  const property = fc.asyncProperty(steps, fc.integer({ min: 1 }), async (all, seed) => {
    let state = seed
    const random = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    }
    const { browser, open, sent } = await play(all, random)
    const stored = await browser.store?.load()
    expect(browser.leaders.length).toBe(1)
    for (const { session, errors } of open) {
      expect(errors.map(String)).toEqual([])
      expect(session.state.meta).toEqual(stored?.meta ?? session.state.meta)
      expect([...session.state.cached.values()]).toEqual(stored?.cached)
      expect(session.state.live.isDurable).toBe(true)
    }
    const keys = stored?.cached.map(({ key }) => key) ?? []
    for (const { page, transactionId, outcome } of sent) {
      if (open.includes(page)) expect([transactionId, outcome]).toEqual([transactionId, 'done'])
      if (outcome !== 'done') continue
      expect(keys).toContain(`sent.${transactionId}`)
      expect(browser.server.sends.get(transactionId)).toBeGreaterThan(0)
    }
  })
  const seed = isFullRun ? Date.now() % 2 ** 31 : 7
  if (isFullRun) console.log(`seed of tabs: ${seed}`)
  await fc.assert(property, {
    numRuns: isFullRun ? 3_000 : 150,
    seed,
    interruptAfterTimeLimit: 60_000,
    markInterruptAsFailure: true,
  })
})
