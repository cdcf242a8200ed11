import { expect, it } from 'vitest'
import { aMessage, FakeSession, settled, upload } from '../../../test/support/fake-session.js'
import { createClientOn } from '../../create-client.js'
import { ClientError, failureOf } from '../../errors.js'
import type { MessageRecord } from '../../model/records.js'

/** A client whose server has pinned messages, by position; the highest was pinned last. */
function aClient() {
  const session = new FakeSession()
  const timers: (() => void)[] = []
  const server = { pinned: [] as readonly number[], failure: undefined as ClientError | undefined }
  session.answer = () => {
    if (server.failure) throw server.failure
    const messages = server.pinned.map((seq) => ({
      ...{ seq, msg_id: seq * 10, sender_id: 9, content: `text ${seq}` },
      pinned: { by: 9, at: seq },
    }))
    return { data: { messages } }
  }
  const options = { url: 'https://chat.example', appId: 'app', token: () => 'secret' }
  const clock = {
    ...{ now: () => 0, wallTime: () => 0, random: () => 0.5 },
    after: (_ms: number, run: () => void) => {
      timers.push(run)
      return () => {}
    },
  }
  const client = createClientOn(session, options, { clock, upload })
  session.apply({ logs: [session.fill('g7', 5)] })
  const { pinned } = client.group(7).conversation
  const shown = () => pinned.getSnapshot()?.map(({ seq }) => seq)
  const calls = () => session.commandsOf('call').length
  return { session, server, timers, client, pinned, shown, calls }
}

const pinnedRecord = (seq: number, at: number): MessageRecord => ({
  ...aMessage('g7', seq),
  fields: { pinned: { by: 9, at } },
})

it('pinned: are read with the first listener, and follow pins, edits and recalls without a call', async () => {
  const { session, server, pinned, shown, calls } = aClient()
  server.pinned = [4, 2]
  expect([shown(), calls()]).toEqual([undefined, 0])
  let changes = 0
  pinned.subscribe(() => changes++)
  await settled()
  expect([shown(), calls(), changes]).toEqual([[4, 2], 1, 1])
  session.apply({ updated: [{ log: 'g7', seq: 3, set: { pinned: { by: 9, at: 6 } } }] })
  await settled()
  expect([shown(), calls()]).toEqual([[3, 4, 2], 1])
  const former = pinned.getSnapshot()
  session.apply({ logs: [session.fill('g7', 6)] })
  expect(pinned.getSnapshot()).toBe(former)
  session.apply({ messages: [{ ...pinnedRecord(2, 2), content: 'edited' }] })
  expect(pinned.getSnapshot()?.at(-1)?.text).toBe('edited')
  session.apply({ removed: [{ log: 'g7', seq: 3 }] })
  session.apply({ updated: [{ log: 'g7', seq: 2, set: { pinned: null } }] })
  expect(shown()).toEqual([4])
  session.apply({ hidden: [{ log: 'g7', msgId: 40 }] })
  expect([shown(), calls()]).toEqual([[], 1])
})

it('pinned: what the user pins and unpins is shown before the server has it', async () => {
  const { session, server, pinned, shown } = aClient()
  server.pinned = [4, 2]
  pinned.subscribe(() => {})
  await settled()
  const value = [{ log: 'g7', msgId: 40, isOn: false }]
  session.apply({ cached: [{ key: 'wishes', value, isStale: false }] })
  expect(shown()).toEqual([2])
})

it('pinned: one that the store lacks is read from the server after a random time', async () => {
  const { session, server, timers, pinned, shown, calls } = aClient()
  pinned.subscribe(() => {})
  await settled()
  server.pinned = [9]
  session.stored.delete('g7 9')
  session.apply({ updated: [{ log: 'g7', seq: 9, set: { pinned: { by: 9, at: 9 } } }] })
  await settled()
  expect([shown(), calls(), timers.length]).toEqual([[], 1, 1])
  timers[0]?.()
  await settled()
  expect([shown(), calls()]).toEqual([[9], 2])
})

it('pinned: pins and unpins of messages that are not loaded come by their events', async () => {
  const { session, server, timers, pinned, shown } = aClient()
  const conversation = { low_id: 7, high_id: 7, is_group: true }
  const updated = (value: unknown) =>
    session.event({
      kind: 'message.updated',
      data: { conversation, seq: 9, set: { pinned: value } },
    })
  pinned.subscribe(() => {})
  await settled()
  server.pinned = [9]
  session.stored.delete('g7 9')
  updated({ by: 9, at: 9 })
  await settled()
  timers[0]?.()
  await settled()
  expect(shown()).toEqual([9])
  updated(null)
  expect(shown()).toEqual([])
})

it('pinned: a batch that comes while they are read is newer than the answer', async () => {
  const { session, server, pinned, shown } = aClient()
  server.pinned = [4]
  const answer = session.answer
  session.answer = (command) => {
    const answered = answer(command)
    if (command.type === 'call')
      session.apply({ updated: [{ log: 'g7', seq: 4, set: { pinned: null } }] })
    return answered
  }
  pinned.subscribe(() => {})
  await settled()
  expect(shown()).toEqual([])
})

it('pinned: are read again with a new connection, after a failure, and when the log was emptied', async () => {
  const { session, server, timers, pinned, shown, calls } = aClient()
  server.failure = new ClientError(failureOf('not_connected', 'lost', true))
  const end = pinned.subscribe(() => {})
  await settled()
  expect([shown(), calls(), timers.length]).toEqual([undefined, 1, 1])
  server.failure = undefined
  server.pinned = [1]
  timers[0]?.()
  await settled()
  expect(shown()).toEqual([1])
  server.pinned = [2]
  session.setLive({ connection: { state: 'offline' } })
  session.setLive({ connection: { state: 'online' } })
  await settled()
  expect(shown()).toEqual([2])
  server.pinned = [3]
  session.apply({ emptiedLogs: ['g7'] })
  await settled()
  expect([shown(), calls()]).toEqual([[3], 4])
  server.failure = new ClientError({ ...failureOf('not_found', 'no such operation') })
  session.apply({ emptiedLogs: ['g7'] })
  await settled()
  expect(shown()).toEqual([])
  end()
  session.apply({ emptiedLogs: ['g7'] })
  await settled()
  expect(calls()).toBe(5)
})
