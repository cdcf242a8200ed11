import { describe, expect, it } from 'vitest'
import { aBatch } from '../../test/support/a-batch.js'
import { FakeBrowser, type FakePage, sendCommand, settle } from '../../test/support/fake-browser.js'
import { aLog, anUnsent } from '../../test/support/fake-session.js'
import { StoreError } from '../ports/store.js'
import { memoryStore } from '../stores/memory-store.js'
import { channelVersion } from './channel.js'

const draft = { key: 'draft.9', value: 'Hel', isStale: false }
const wish = { key: 'wishes', value: [], isStale: false }
const groups = { key: 'groups', value: [], isStale: false }
const call = (op: string) => ({ type: 'call', op, data: {} }) as const
const cached = (page: FakePage) => [...page.session.state.cached.keys()]
const leaderOf = (page: FakePage) => {
  if (!page.leader) throw new Error('the page has never led')
  return page.leader
}

describe('a store that fails', () => {
  it.each(['quota', 'unavailable'] as const)(
    'as %s: the tab continues alone in memory, with its unsent messages, drafts and wishes, without a device',
    async (failure) => {
      const browser = new FakeBrowser()
      const store = memoryStore()
      const { generation } = await store.lead()
      const records = { unsent: [anUnsent(77)], cached: [draft, wish, groups] }
      await store.apply(aBatch(1, records), generation)
      browser.store = store
      const [one, two] = [await browser.open(), await browser.open()]
      one.session.connect()
      expect(leaderOf(one).options.deviceGuid).toBe(await store.deviceGuid())
      one.storeFailure = new StoreError(failure)
      expect(await one.send(1)).toBe('send')
      await settle()
      expect(leaderOf(one).options).toMatchObject({ isDurable: false })
      expect(leaderOf(one).options.deviceGuid).toBeUndefined()
      const { unsent, cached } = leaderOf(one).options.state
      expect([unsent, cached]).toEqual([[anUnsent(77)], [draft, wish]])
      expect(leaderOf(one).isConnected).toBe(true)
      expect(one.session.state.live.isDurable).toBe(false)
      expect(await one.session.messages({ log: 'g1', fromSeq: 1, toSeq: 9, limit: 9 })).toEqual([])
      expect(leaderOf(two).options.isDurable).toBe(true)
    },
  )

  it('at its opening: the tab begins in memory', async () => {
    const browser = new FakeBrowser()
    const page = await browser.open({ storage: 'durable' })
    expect(page.session.state.live.isDurable).toBe(true)
    const store = memoryStore()
    browser.store = { ...store, load: () => Promise.reject(new StoreError('unavailable')) }
    const other = await browser.open()
    other.session.connect()
    expect(await other.send(1)).toBe('send')
    expect(other.session.state.live.isDurable).toBe(false)
    expect(other.session.state.meta.userId).toBe(5)
  })

  it('together with the channel between tabs: the tab begins in memory and says why', async () => {
    const browser = new FakeBrowser()
    browser.tabsError = new Error('no channel here')
    const page = await browser.open()
    expect(await page.send(1)).toBe('send')
    expect(page.errors).toEqual([browser.tabsError])
    expect(leaderOf(page).options.isDurable).toBe(false)
  })

  it('together with the watching of the page, as in a worker: the tab begins in memory too', async () => {
    const browser = new FakeBrowser()
    browser.faults = { watch: new ReferenceError('document is not defined') }
    const page = await browser.open()
    page.session.connect()
    expect(await page.send(1)).toBe('send')
    expect(page.errors).toEqual([browser.faults.watch])
    expect(page.session.state.live.connection.state).toBe('online')
  })

  it('and memory too: the session ends, and says why to the app and to every call', async () => {
    const browser = new FakeBrowser()
    browser.faults = { leader: new Error('no core here') }
    const page = await browser.open({ storage: 'memory' })
    expect(page.errors).toEqual([browser.faults.leader])
    await expect(page.send(1)).rejects.toMatchObject({ name: 'closed' })
    expect(page.session.state.live.connection).toMatchObject({
      state: 'ended',
      end: { message: expect.stringContaining('no core here') },
    })
  })

  it('while a follower reads it: that tab continues alone, the leader stays', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    two.storeFailure = new StoreError('unavailable')
    expect(await two.session.messages({ log: 'g1', fromSeq: 1, toSeq: 9, limit: 9 })).toEqual([])
    await settle()
    expect(two.session.state.live.isDurable).toBe(true)
    two.session.connect()
    await settle()
    expect(two.session.state.live.isDurable).toBe(false)
    expect(leaderOf(one).isStopped).toBe(false)
  })

  it('because another tab leads it: the tab leads again, with a higher generation', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    await browser.store?.lead()
    expect(await one.send(1)).toBe('send')
    expect(one.leaders.map(({ options }) => options.generation)).toEqual([1, 3])
    expect(cached(one)).toEqual(['sent.1'])
  })

  it('is not opened in memory mode; then the tab is alone, with the device of its options', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open({ storage: 'memory', deviceGuid: 'bot' })
    const two = await browser.open({ storage: 'memory' })
    expect(browser.leaders).toEqual([0, 1])
    expect(leaderOf(one).options).toMatchObject({ isDurable: false, deviceGuid: 'bot' })
    expect(leaderOf(two).options.deviceGuid).toBeUndefined()
  })
})

describe('a store that the browser has emptied', () => {
  async function emptied() {
    const browser = new FakeBrowser()
    const store = memoryStore()
    const { generation } = await store.lead()
    const unsent = [anUnsent(77), anUnsent(78, { state: 'failed' })]
    const records = { logs: [aLog('d1.9')], unsent, cached: [draft, wish, groups] }
    await store.apply(aBatch(1, records), generation)
    browser.store = store
    const [one, two] = [await browser.open(), await browser.open()]
    await one.send(1)
    const guid = leaderOf(one).options.deviceGuid
    await store.destroy()
    // Generations grow in an emptied store too, by its clock.
    for (let leads = 0; leads < 3; leads++) await store.lead()
    return { browser, store, unsent, one, two, guid }
  }

  it('gets unsent messages, drafts, wishes and the device back at once, in every tab', async () => {
    const { browser, store, unsent, one, two, guid } = await emptied()
    one.closeStore()
    await settle()
    const kept = { unsent, cached: [draft, wish], logs: [], meta: { userId: 5, pos: '' } }
    expect(await store.load()).toMatchObject(kept)
    for (const page of [one, two]) expect([...page.session.state.unsent.values()]).toEqual(unsent)
    expect(leaderOf(one).options.state.unsent).toEqual(unsent)
    expect(leaderOf(one).options.deviceGuid).toBe(guid)
    expect(browser.leaders).toEqual([0])
    expect(await two.send(2)).toBe('send')
  })

  it('gets both back from the next tab that leads', async () => {
    const { store, unsent, one, two, guid } = await emptied()
    one.crash()
    await settle()
    expect((await store.load()).unsent).toEqual(unsent)
    expect(leaderOf(two).options.state.unsent).toEqual(unsent)
    expect(leaderOf(two).options.deviceGuid).toBe(guid)
  })
})

describe('the device', () => {
  it('is the one of the store, in every tab that leads', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    const guid = leaderOf(one).options.deviceGuid
    expect(guid).toMatch(/^memory /)
    await one.session.close()
    await settle()
    expect(leaderOf(two).options.deviceGuid).toBe(guid)
  })

  it('is that of the options, or none for null', async () => {
    const one = await new FakeBrowser().open({ deviceGuid: 'mine' })
    expect(leaderOf(one).options.deviceGuid).toBe('mine')
    const two = await new FakeBrowser().open({ deviceGuid: null })
    expect(leaderOf(two).options.deviceGuid).toBeUndefined()
  })
})

describe('the end', () => {
  it('of a client leaves the store; later commands fail as closed', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    await one.send(1)
    browser.server.isSilent = true
    const waiting = expect(one.session.execute(call('group.list'))).rejects.toMatchObject({
      name: 'closed',
    })
    await one.session.close()
    await waiting
    await expect(one.send(2)).rejects.toMatchObject({ name: 'closed' })
    const two = await browser.open()
    expect(cached(two)).toEqual(['sent.1'])
  })

  it('by a logout empties the store and every tab', async () => {
    const browser = new FakeBrowser()
    const pages = [await browser.open(), await browser.open(), await browser.open()]
    await pages[0]?.send(1)
    await pages[2]?.session.destroy()
    await settle()
    for (const page of pages) {
      expect(page.session.closed.aborted).toBe(true)
      expect(cached(page)).toEqual([])
      expect(page.session.state.live.connection).toMatchObject({
        state: 'ended',
        end: { name: 'closed', message: 'the user has logged out' },
      })
      await expect(page.send(2)).rejects.toMatchObject({ name: 'closed' })
    }
    expect(browser.leaders).toEqual([])
    expect((await browser.store?.load())?.cached).toEqual([])
  })

  it('comes too when the message of the logout was lost, and the store says that it is deleted', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    one.storeFailure = new StoreError('deleted')
    await expect(one.send(1)).rejects.toMatchObject({ name: 'closed' })
    expect(browser.leaders).toEqual([])
  })
})

describe('a client without the ID of its user', () => {
  it('learns it by a session without a device, then opens the store; commands wait', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open({ userId: null })
    const sent = one.send(1)
    expect(leaderOf(one).options.deviceGuid).toBeUndefined()
    expect(browser.holder).toBeUndefined()
    one.session.connect()
    await settle()
    expect(await sent).toBe('send')
    expect(one.leaders.map(({ isStopped }) => isStopped)).toEqual([true, false])
    expect(leaderOf(one).options.deviceGuid).toBe(await browser.store?.deviceGuid())
    expect(leaderOf(one).isConnected).toBe(true)
    expect(one.leaders.map(({ options }) => options.token)).toEqual([undefined, 'token'])
    expect(browser.server.sends).toEqual(new Map([[1, 1]]))
  })
})

describe('messages of other pages', () => {
  it('of an older version or another shape are ignored', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    const bad: unknown[] = [
      null,
      7,
      'text',
      {},
      { hermod: 0, from: 'x', type: 'destroyed' },
      { hermod: channelVersion, type: 'destroyed' },
      { hermod: channelVersion, from: 'x', type: 'constructor' },
      { hermod: channelVersion, from: 'x', type: 'batch', generation: 99, batch: { meta: {} } },
      {
        hermod: channelVersion,
        from: 'x',
        type: 'here',
        generation: '99',
        commit: 1,
        live: {},
        missing: [],
      },
      { hermod: channelVersion, from: 'x', type: 'command', id: 7, command: {} },
      {
        hermod: channelVersion,
        from: 'x',
        type: 'done',
        generation: 99,
        id: 'none',
        outcome: null,
      },
    ]
    for (const page of [one, two]) for (const message of bad) page.hear(message)
    await settle()
    expect(await two.send(1)).toBe('send')
    expect(browser.leaders).toEqual([0])
  })

  it('of a newer version make a tab continue alone, so that the newer one leads', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    one.hear({ hermod: channelVersion + 1, from: 'x', type: 'anything' })
    await settle()
    expect(browser.holder).toBeUndefined()
    expect(leaderOf(one).options.isDurable).toBe(false)
    expect(await one.session.execute(sendCommand(3))).toBe('send')
  })
})
