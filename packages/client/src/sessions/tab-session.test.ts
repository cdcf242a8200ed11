import { describe, expect, it } from 'vitest'
import { FakeBrowser, type FakePage, settle } from '../../test/support/fake-browser.js'

const call = (op: string) => ({ type: 'call', op, data: {} }) as const
const cached = (page: FakePage) => [...page.session.state.cached.keys()]
const leaderOf = (page: FakePage) => {
  if (!page.leader) throw new Error('the page has never led')
  return page.leader
}

describe('tabs of one browser', () => {
  it('elect one leader; what it commits reaches the others', async () => {
    const browser = new FakeBrowser()
    const [one, two, three] = [await browser.open(), await browser.open(), await browser.open()]
    expect(browser.leaders).toEqual([0])
    await leaderOf(one).write('contacts', [1])
    leaderOf(one).setLive({ typing: [{ conversationId: 9, userId: 9 }] })
    await settle()
    for (const page of [one, two, three]) {
      expect(cached(page)).toEqual(['contacts'])
      expect(page.session.state.live.typing).toHaveLength(1)
      expect(page.session.state.meta.commit).toBe(1)
    }
  })

  it('share events of the server', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    const heard: unknown[] = []
    const end = two.session.onEvent((event) => heard.push(event))
    leaderOf(one).options.listener.event({ kind: 'contact.added', data: { user_id: 3 } })
    await settle()
    end()
    leaderOf(one).options.listener.event({ kind: 'contact.added', data: { user_id: 4 } })
    await settle()
    expect(heard).toEqual([{ kind: 'contact.added', data: { user_id: 3 } }])
  })

  it('run commands in the tab that leads, and settle them in their own', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    expect(await two.send(1)).toBe('send')
    expect(cached(two)).toEqual(['sent.1'])
    expect(leaderOf(one).commands).toMatchObject([{ type: 'send', transactionId: 1 }])
    expect(two.leaders).toEqual([])
  })

  it('show what is stored before there is a leader', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    await leaderOf(one).write('contacts', [1])
    one.freeze()
    const two = await browser.open()
    expect(cached(two)).toEqual(['contacts'])
  })

  it('take over at once when the leader is closed, and when it crashes', async () => {
    const browser = new FakeBrowser()
    const [one, two, three] = [await browser.open(), await browser.open(), await browser.open()]
    await one.session.close()
    await settle()
    expect(browser.leaders).toEqual([1])
    two.crash()
    await settle()
    await leaderOf(three).write('pins', [])
    expect(cached(three)).toEqual(['pins'])
  })

  it('steal from a leader that does not answer a visible tab for 5 seconds', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    one.freeze()
    const sent = two.send(1)
    await browser.advance(30_000)
    expect(two.leaders).toEqual([])
    two.show()
    await browser.advance(4_900)
    expect(two.leaders).toEqual([])
    await browser.advance(200)
    expect(await sent).toBe('send')
    expect(two.leaders).toHaveLength(1)

    one.thaw()
    await settle()
    expect(browser.leaders).toEqual([1])
    expect(cached(one)).toEqual(['sent.1'])
    expect(await one.send(2)).toBe('send')
    expect(leaderOf(two).commands).toHaveLength(2)
  })

  it('notice a frozen leader while they are only looked at', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    const two = await browser.open({ isVisible: true })
    await browser.advance(20_000)
    expect(browser.leaders).toEqual([0])
    one.freeze()
    await browser.advance(10_000)
    expect(two.leaders).toHaveLength(1)
  })

  it('do not steal after a sleep of the machine, in which nothing could answer', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    const two = await browser.open({ isVisible: true })
    one.freeze()
    two.freeze()
    browser.now += 3_600_000
    two.thaw()
    await browser.advance(1_000)
    one.thaw()
    await browser.advance(20_000)
    expect(browser.leaders).toEqual([0])
  })

  it('write nothing as a leader that was frozen while another tab took over', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    const two = await browser.open({ isVisible: true })
    const late = one.send(1)
    one.freeze()
    await browser.advance(11_000)
    expect(two.leaders).toHaveLength(1)
    await two.send(2)
    one.thaw()
    expect(await late).toBe('send')
    await settle()
    expect(one.leaders[0]?.isStopped).toBe(true)
    for (const page of [one, two]) expect(cached(page)).toEqual(['sent.2', 'sent.1'])
  })

  it('read the store when they have missed a batch', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    const changes: string[] = []
    two.session.subscribe(({ type }) => {
      if (type !== 'live') changes.push(type)
    })
    browser.loss = () => true
    await leaderOf(one).write('contacts', [])
    await settle()
    browser.loss = () => false
    await leaderOf(one).write('pins', [])
    await settle()
    expect(cached(two)).toEqual(['contacts', 'pins'])
    expect(changes).toEqual(['reload'])
    await leaderOf(one).write('profile', [])
    await settle()
    expect(changes).toEqual(['reload', 'batch'])
  })

  it('notice a missed last batch at the next question', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    const two = await browser.open({ isVisible: true })
    browser.loss = () => true
    await leaderOf(one).write('contacts', [])
    await settle()
    browser.loss = () => false
    await browser.advance(6_000)
    expect(cached(two)).toEqual(['contacts'])
    expect(browser.leaders).toEqual([0])
  })

  it('repeat a command whose way or outcome was lost, without running a call twice', async () => {
    const browser = new FakeBrowser()
    const [, two] = [await browser.open(), await browser.open({ isVisible: true })]
    browser.loss = (type) => type === 'command'
    const first = two.session.execute(call('group.create'))
    await settle()
    browser.loss = () => false
    await browser.advance(6_000)
    expect(await first).toBe('call')

    browser.loss = (type) => type === 'done'
    const second = two.session.execute(call('contact.list'))
    await settle()
    browser.loss = () => false
    await browser.advance(6_000)
    expect(await second).toBe('call')
    expect(browser.server.calls).toEqual(['group.create', 'contact.list'])
    expect(browser.leaders).toEqual([0])
  })
})

describe('commands when the leader changes', () => {
  it('are repeated at the next leader, except calls that may have run', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    browser.server.isSilent = true
    const taken = two.session.execute(call('group.create'))
    const failure = expect(taken).rejects.toMatchObject({ name: 'not_connected' })
    await settle()
    one.freeze()
    const waiting = two.session.execute(call('contact.list'))
    const sent = two.send(1)
    one.crash()
    browser.server.isSilent = false
    await settle()
    await failure
    expect(await waiting).toBe('call')
    expect(await sent).toBe('send')
    expect(browser.server.calls).toEqual(['group.create', 'contact.list'])
  })

  it('keep the newest list of each caller, and end the lists of a tab that is gone', async () => {
    const browser = new FakeBrowser()
    const [one, two, three] = [await browser.open(), await browser.open(), await browser.open()]
    const want = (page: FakePage, ...keys: string[]) =>
      page.session.execute({ type: 'watch', caller: 'views', keys })
    await want(two, 'contacts')
    await want(two, 'contacts', 'pins')
    await want(three, 'profile')
    await one.session.close()
    await settle()
    const repeated = leaderOf(two).commands.filter(({ type }) => type === 'watch')
    expect(repeated).toMatchObject([{ keys: ['contacts', 'pins'] }, { keys: ['profile'] }])
    const callers = repeated.map((command) => 'caller' in command && command.caller)
    expect(new Set(callers).size).toBe(2)
    await three.session.close()
    await settle()
    expect(leaderOf(two).commands.at(-1)).toMatchObject({ caller: callers[1], keys: [] })
  })

  it('fail as aborted at once, also when another tab runs them', async () => {
    const browser = new FakeBrowser()
    const [, two] = [await browser.open(), await browser.open()]
    browser.server.isSilent = true
    const controller = new AbortController()
    const { signal } = controller
    const result = two.session.execute(call('group.list'), { signal })
    await settle()
    controller.abort()
    await expect(result).rejects.toMatchObject({ name: 'aborted' })
    const late = two.session.execute(call('group.list'), { signal })
    await expect(late).rejects.toMatchObject({ name: 'aborted' })
  })

  it('fail with a reason when they cannot be sent to another tab', async () => {
    const browser = new FakeBrowser()
    const [, two] = [await browser.open(), await browser.open()]
    const bad = two.session.execute({ type: 'call', op: 'group.list', data: { a: () => {} } })
    await expect(bad).rejects.toMatchObject({ name: 'invalid_argument' })
  })
})

describe('the connection', () => {
  it('is there while any tab wants it', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    two.session.connect()
    await settle()
    expect(leaderOf(one).isConnected).toBe(true)
    expect(two.session.state.live.connection.state).toBe('online')
    one.session.connect()
    two.session.disconnect()
    await settle()
    expect(leaderOf(one).isConnected).toBe(true)
    one.session.disconnect()
    expect(leaderOf(one).isConnected).toBe(false)
    two.session.connect()
    await settle()
    await two.session.close()
    await settle()
    expect(leaderOf(one).isConnected).toBe(false)
  })

  it('is connecting from the call on, before there is a store, a leader or a user', async () => {
    const browser = new FakeBrowser()
    const one = browser.open({ userId: null })
    const session = browser.pages[0]?.session as FakePage['session']
    const states: string[] = []
    session.subscribe(() => states.push(session.state.live.connection.state))
    session.connect()
    expect(session.state.live.connection.state).toBe('connecting')
    await one
    expect(session.state.live.connection.state).toBe('online')
    expect(states).not.toContain('idle')
    session.disconnect()
    expect(session.state.live.connection.state).toBe('idle')
  })

  it('that is not wanted any more before there is a leader is idle again', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    one.freeze()
    two.session.connect()
    expect(two.session.state.live.connection.state).toBe('connecting')
    two.session.disconnect()
    expect(two.session.state.live.connection.state).toBe('idle')
  })

  it('is wanted by the next leader for the tabs that are left', async () => {
    const browser = new FakeBrowser()
    const [one, two, three] = [await browser.open(), await browser.open(), await browser.open()]
    three.session.connect()
    await settle()
    await one.session.close()
    await settle()
    expect(leaderOf(two).isConnected).toBe(true)
  })

  it('is probed when the user sees another tab again', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    expect(leaderOf(one).wakeups).toBe(0)
    two.show()
    await settle()
    expect(leaderOf(one).wakeups).toBe(1)
  })

  it('is opened again only when the app says so, not by questions of the tabs', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open({ isVisible: true })]
    two.session.connect()
    await browser.advance(30_000)
    expect(leaderOf(one).connects).toBe(1)
    two.session.connect()
    await settle()
    expect(leaderOf(one).connects).toBe(2)
  })
})

describe('a tab that the browser suspends', () => {
  it('hands the connection over before, and follows when it comes back', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open()]
    one.suspend()
    await settle()
    expect(browser.leaders).toEqual([1])
    await two.send(1)
    one.resume()
    await settle()
    expect(browser.leaders).toEqual([1])
    expect(cached(one)).toEqual(['sent.1'])
  })

  it('leads again when there is no other', async () => {
    const browser = new FakeBrowser()
    const one = await browser.open()
    one.session.connect()
    one.suspend()
    await settle()
    const sent = one.send(1)
    one.resume()
    await settle()
    expect(await sent).toBe('send')
    expect(leaderOf(one).isConnected).toBe(true)
  })

  it('does not get the lock in its sleep', async () => {
    const browser = new FakeBrowser()
    const [one, two] = [await browser.open(), await browser.open(), await browser.open()]
    two.suspend()
    await one.session.close()
    await settle()
    expect(browser.leaders).toEqual([2])
  })
})
