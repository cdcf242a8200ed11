/** The model server keeps the rules of the contract; the simulation is only as good as it. */
import type { Json } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { Random } from '../../../../server/test/support/random.js'
import { Agenda } from '../agenda.js'
import { headOf } from './answers.js'
import { ModelServer } from './model-server.js'
import { ModelSession } from './model-session.js'
import { broadcasts, direct, group, keyOf, type LogName, logOf, type ModelGroup } from './state.js'
import { edit, hide, join, leave, pin, read, recall, setMuteMode, store } from './writes.js'

const [alice, bob, carol, team] = [1, 2, 3, 101]
const limits = { maxLogs: 2, maxItems: 10, maxRows: 50, maxChanges: 3, maxUserChanges: 10 }
let server: ModelServer
let agenda: Agenda
let frames: Json[]

beforeEach(() => {
  agenda = new Agenda()
  const random = new Random(1)
  const options = { agenda, random, limits, transactionTtlMs: 60_000, maxInFlight: 4 }
  server = new ModelServer(options)
  for (const id of [alice, bob, carol]) server.addUser(id)
  server.addGroup(team, [alice, bob], false)
  frames = []
})

function post(senderId: number, name: LogName, content: string): number {
  const { write, msgId } = store(server.database, name, {
    senderId,
    now: server.now,
    draft: { content },
  })
  server.commit(write)
  return msgId
}

const change = (write: ReturnType<typeof edit>) => write && server.commit(write)
const theTeam = () => server.database.groups.get(team) as ModelGroup
const head = (userId: number, name: LogName) =>
  headOf(server.database, logOf(server.database, name), userId)
const sync = (userId: number, body: object = {}) => server.answers.sync(userId, body)
const contents = (list: Json[] = []) => list.map(({ content, data }) => content ?? data?.content)

function open(userId: number, pos = ''): ModelSession {
  const link = {
    owner: 'device',
    frame: (text: string) => frames.push(JSON.parse(text)),
    close: (code: number) => frames.push({ closed: code }),
    cut: () => {},
  }
  const session = new ModelSession(server, link)
  server.sessions.add(session)
  const data = { access_token: server.token(userId), pos }
  session.receive(JSON.stringify({ id: 'open', op: 'session.open', data }))
  return session
}

describe('numbers and positions', () => {
  it('a message of another user is unread until it is read, and the sender has read it', () => {
    post(alice, direct(alice, bob), 'one')
    post(alice, direct(alice, bob), 'two')
    expect(head(bob, direct(alice, bob))).toMatchObject({
      change: 2,
      seq: 2,
      unread: 2,
      read_seq: 0,
    })
    expect(head(alice, direct(alice, bob))).toMatchObject({ unread: 0, read_seq: 2 })
    for (const write of read(server.database, bob, { peer: alice, isGroup: false }))
      server.commit(write)
    expect(head(bob, direct(alice, bob))).toMatchObject({ unread: 0, read_seq: 2 })
    expect(head(alice, direct(alice, bob))).toMatchObject({ peer_read_seq: 2 })
  })

  it('an own message reads the broadcasts of the other user too', () => {
    post(alice, broadcasts(alice), 'to all')
    expect(head(bob, broadcasts(alice))).toMatchObject({ unread: 1 })
    post(bob, direct(alice, bob), 'thanks')
    expect(head(bob, broadcasts(alice))).toMatchObject({ unread: 0 })
  })

  it('a deleted conversation is hidden up to its end, and has nothing unread', () => {
    const msgId = post(alice, direct(alice, bob), 'one')
    for (const write of hide(server.database, bob, { peer: alice, isGroup: false }))
      server.commit(write)
    expect(head(bob, direct(alice, bob))).toMatchObject({ unread: 0, hidden_msg_id: msgId })
  })

  it('what comes while a member receives nothing is never unread', () => {
    server.commit(setMuteMode(server.database, theTeam(), bob, 2))
    post(alice, group(team), 'one')
    server.commit(setMuteMode(server.database, theTeam(), bob, 0))
    post(alice, group(team), 'two')
    expect(head(bob, group(team))).toMatchObject({ unread: 1 })
  })
})

describe('changes and history', () => {
  it('each number has an entry: texts of now, and a skipped one where the message is gone', () => {
    const name = direct(alice, bob)
    for (const content of ['one', 'two', 'three']) post(alice, name, content)
    change(edit(server.database, name, { seq: 1, content: 'one!', now: 1, actorId: alice }))
    change(recall(server.database, name, { seq: 2, now: 1, actorId: alice }))
    const first = server.answers.changes(bob, { log: name, after_change: 0 })
    expect(first).toMatchObject({ from: 0, next: 3, change: 5 })
    expect(first.changes).toMatchObject([
      { event: 'message.stored', change: 1, data: { content: 'one!' } },
      { event: 'change.skipped', change: 2, data: { seq: 2 } },
      { event: 'message.stored', change: 3 },
    ])
    const rest = server.answers.changes(bob, { log: name, after_change: 3 })
    expect(rest.changes).toMatchObject([
      { event: 'message.replaced', change: 4 },
      { event: 'message.recalled', change: 5, data: { seq: 2 } },
    ])
  })

  it('history answers pages down to the first position', () => {
    const name = direct(alice, bob)
    for (const content of ['one', 'two', 'three', 'four']) post(alice, name, content)
    const newest = server.answers.history(bob, { log: name })
    expect(contents(newest.messages)).toEqual(['four', 'three', 'two'])
    expect(newest.from_seq).toBe(2)
    const rest = server.answers.history(bob, { log: name, before_seq: 2 })
    expect(contents(rest.messages)).toEqual(['one'])
    expect(rest.from_seq).toBe(1)
  })

  it('a new member sees nothing from before, and hears where the log ends', () => {
    const msgId = post(alice, group(team), 'before')
    open(carol)
    server.commit(join(server.database, theTeam(), carol))
    agenda.run(2_000)
    expect(head(carol, group(team))).toMatchObject({ unread: 0, hidden_msg_id: msgId })
    expect(frames.find(({ event }) => event === 'group.joined')?.data.log).toEqual({
      change: 1,
      seq: 1,
      msg_id: msgId,
    })
  })
})

describe('sync', () => {
  it('walks the outbox in pages, each with all changes of its logs', () => {
    const { pos } = sync(bob)
    for (const peer of [alice, carol]) post(peer, direct(peer, bob), `from ${peer}`)
    post(alice, group(team), 'to the team')
    const page = sync(bob, { after: pos })
    expect(page).toMatchObject({ list: false, more: true })
    expect(page.heads.map(({ from }: Json) => from)).toEqual([0, 0])
    const rest = sync(bob, { after: page.pos })
    expect(rest).toMatchObject({ more: false })
    expect(rest.heads.map(({ log }: Json) => keyOf(log))).toEqual(['group 101'])
    expect(sync(bob, { after: rest.pos })).toMatchObject({ heads: [], more: false })
  })

  it('lists all logs with their newest messages, page after page, both logs of a user together', () => {
    post(alice, broadcasts(alice), 'to all')
    post(alice, direct(alice, bob), 'one')
    post(carol, direct(carol, bob), 'two')
    const first = sync(bob, { window: 1, limit: 2 })
    const second = sync(bob, { list: true, cursor: first.cursor, window: 1, limit: 2 })
    const keys = (page: Json) => page.heads.map(({ log }: Json) => keyOf(log))
    expect([keys(first), keys(second)]).toEqual([['2 3'], ['from 1', '1 2']])
    expect(contents(first.heads[0].messages)).toEqual(['two'])
    expect(second.pos).toBeUndefined()
  })

  it('answers logs in `have`, and names those that the user has no more', () => {
    post(alice, group(team), 'one')
    const { pos } = sync(bob)
    server.commit(leave(theTeam(), bob, bob))
    const have = [{ log: group(team), change: 1 }]
    expect(sync(bob, { after: pos, have })).toMatchObject({ heads: [], gone: [group(team)] })
  })

  it('what does not fit loses its messages, not its head', () => {
    const name = direct(alice, bob)
    const { pos } = sync(bob)
    for (let index = 0; index < 11; index++) post(alice, name, `${index}`)
    const [only] = sync(bob, { after: pos }).heads
    expect(only).toMatchObject({ change: 11, changes: [] })
    expect(only).not.toHaveProperty('from')
    expect(only).not.toHaveProperty('messages')
  })

  it('notes what the user has to read again, once, and resets another history', () => {
    const { pos } = sync(bob)
    server.commit(pin(server.database, bob, alice))
    server.commit(pin(server.database, bob, carol))
    expect(sync(bob, { after: pos }).user).toEqual([{ kind: 8, ref: 0 }])
    server.restore(structuredClone(server.database))
    expect(sync(bob, { after: pos })).toMatchObject({ reset: 'epoch', heads: [] })
  })

  it('a purged outbox is answered by the list', () => {
    const { pos } = sync(bob)
    post(alice, direct(alice, bob), 'one')
    server.database.purgedTo = 1
    expect(sync(bob, { after: pos })).toMatchObject({ list: true })
  })
})

describe('sessions', () => {
  it('a position in a frame never passes an event that is not written', () => {
    open(bob)
    const name = direct(alice, bob)
    // The message with the text n is in row n + 1, and in one of two logs.
    for (let index = 0; index < 200; index++) {
      post(alice, index % 2 ? name : group(team), `${index}`)
      agenda.run(index % 7)
    }
    agenda.run(30_000)
    const written = [-1, -1]
    for (const { event, data, pos } of frames) {
      if (event === 'message.stored') written[Number(data.content) % 2] = Number(data.content)
      const end = Number(pos?.split('/')[1] ?? 0) - 1
      for (const parity of [0, 1])
        if (end >= parity)
          expect(written[parity]).toBeGreaterThanOrEqual(end - ((end + parity) % 2))
    }
    const last = frames.findLast(({ pos }) => pos !== undefined)
    expect(last.pos).toBe(server.answers.pos(200))
  })

  it('a repeat of a send is answered with the first result, as long as the server remembers it', () => {
    const session = open(alice)
    const data = { type: 1, targets: [bob], content_type: 0, content: 'once', transaction_id: 7 }
    const send = (id: number) => {
      session.receive(JSON.stringify({ id, op: 'message.send', data }))
      agenda.run(20)
      return frames.find((frame) => frame.id === id)?.msg_ids
    }
    const first = send(1)
    expect(send(2)).toEqual(first)
    agenda.run(80_000)
    expect(send(3)).not.toEqual(first)
  })

  it('a second session of a device ends the first, and an expired token ends its sessions', () => {
    const guid = { device_guid: 'phone', access_token: server.token(alice) }
    const first = open(alice)
    first.guid = 'phone'
    const second = new ModelSession(server, {
      owner: 'device',
      frame: () => {},
      close: (code: number) => frames.push({ secondClosed: code }),
      cut: () => {},
    })
    second.receive(JSON.stringify({ id: 'open', op: 'session.open', data: guid }))
    server.sessions.add(second)
    expect(frames.at(-1)).toEqual({ closed: 4500 })
    server.expireTokens(alice)
    expect(frames.at(-1)).toEqual({ secondClosed: 4003 })
  })
})
