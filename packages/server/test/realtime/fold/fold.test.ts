/**
 * For each operation that changes something: a device that follows its frames holds the answers of
 * the server after the call. The test compares devices of the actor, the other party, a member, an
 * admin and the owner of a group: once while they are connected, once as if they had been offline
 * during the call, and when they open a session with a pos from before it. An outsider receives
 * nothing.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { closeCodes, eventsByOperation, finishImport, operations } from '@hermod/protocol'
import { anyBackend } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { ownServer } from '../../support/in-process-server.js'
import type { Answers } from '../../support/realtime/answers.js'
import type { UserStore } from '../../support/realtime/user-store.js'
import { Cast, isMarker, type WatchedRole, watched } from './cast.js'
import { nameOf, type Row, withoutAdmins } from './row.js'
import { groupRows } from './rows-groups.js'
import { broadcastRows, messageRows } from './rows-messages.js'
import { contactRows, endingRows, userRows } from './rows-users.js'

const sharingRows = [...withoutAdmins([...userRows, ...contactRows, ...messageRows]), ...groupRows]
const rows = [...sharingRows, ...endingRows, ...broadcastRows]
/** Events that are collected for a second arrive later. */
const patienceMs = 4_000
const rowsOfCast = 12
/** Times that the server asked a connected device to sync, so that frames alone were not compared. */
let syncs = 0
const maxSyncs = 10
/** Enough for a busy machine; an idle one takes seconds. */
const timeoutMs = 300_000

it('fold table: has a row for each operation that changes something', () => {
  const tabled = new Set(rows.map(({ operation }) => operation.id))
  const missing = operations.filter(({ id }) => !tabled.has(id) && !isSilent(id))
  expect(missing.map(({ id }) => id)).toEqual([])
})

/**
 * The operation reads, makes devices read everything anew (the client's test of imports has that),
 * or changes nothing that devices show; `eventsByOperation` has the reason.
 */
const isSilent = (id: string): boolean =>
  id === finishImport.id || typeof eventsByOperation[id] === 'string'

describe.each(anyBackend())('fold table on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_CHECK_ANSWERS: 'off' })
  const faults = new Map<Row, string[]>()

  beforeAll(async () => {
    syncs = 0
    // Other suites check answers; here they would take half of the time.
    const casts = [...chunks(sharingRows, rowsOfCast), ...endingRows.map((each) => [each])]
    await Promise.all(casts.map(runCast))
    // A broadcast would reach the outsiders of other rows.
    await runCast(broadcastRows)
  }, timeoutMs)

  async function runCast(rowsOfOne: readonly Row[]): Promise<void> {
    using cast = await Cast.create(server)
    for (const row of rowsOfOne) {
      const found = faultsOf(cast, row).catch((error: Error) => [`${error.stack ?? error}`])
      faults.set(row, await found)
    }
  }

  it('fold table: the server asks connected devices to sync in few rows', () => {
    expect(syncs).toBeLessThanOrEqual(maxSyncs)
  })

  it.each(rows.map((row) => ({ name: nameOf(row), row })))(
    '$name: devices that follow their frames, or sync, hold what the server answers',
    ({ row }) => {
      expect(faults.get(row)).toEqual([])
    },
  )
})

/** Runs a row. @returns the faults, as sentences */
async function faultsOf(cast: Cast, row: Row): Promise<string[]> {
  await cast.begin()
  const params = await row.params(cast)
  await cast.settle()
  // Before the answers are read, as that itself delivers messages.
  for (const watcher of Object.values(cast.watchers)) watcher.take()
  const compared = await Promise.all(
    (row.watches ?? cast.roles).map(async (role) => {
      const known = await cast.answersOf(role)
      return { role, known, connected: cast.storeOf(role, known), isCurrent: false }
    }),
  )
  const positions = await Promise.all(compared.map(({ role }) => cast.posOf(role)))
  const answer = await cast.call(row.operation, params, row.by?.(cast))
  if (answer.status !== 200 || answer.code !== 200 || answer.text.includes('"result":"fail"'))
    return [`the call answered ${answer.text}`]
  // Markers of their own would be something that the others have missed.
  await cast.settle(['outsider'])
  await Promise.all(
    compared.map(async (each, index) => {
      if (!row.endsActor) each.isCurrent = await cast.isCurrent(each.role, positions[index] ?? '')
    }),
  )
  await cast.settle()
  const outsider = cast.watchers.outsider.take().filter((frame) => frame.event && !isMarker(frame))
  const faults = row.reachesAll
    ? []
    : outsider.map((frame) => `the outsider received ${JSON.stringify(frame)}`)
  if (isSilent(row.operation.id)) faults.push(...received(cast))
  if (row.endsActor) faults.push(...(await wrongEnd(cast, closeCodes[row.endsActor])))
  for (const { role, known, connected, isCurrent } of compared) {
    if (role === 'actor' && row.endsActor) continue
    const { found, answers } = await differences(cast, { role, known, store: connected })
    faults.push(...found.map((each) => `${role}: ${each}`))
    const offline = cast.storeOf(role, known)
    const missed = offline.differences(answers).filter((each) => !isOfTest(each))
    if (isCurrent && missed.length > 0) faults.push(`${role} was called current, but ${missed[0]}`)
    await cast.catchUp(role, offline, known)
    faults.push(...offline.differences(answers).map((each) => `${role}, by sync: ${each}`))
  }
  return faults
}

/** Returns the faults in the end of the actor's session. */
async function wrongEnd({ watchers: { actor } }: Cast, wanted: number): Promise<string[]> {
  const { code } = await actor.client.closed()
  const { event, data } = actor.client.frames.at(-1) ?? {}
  return code === wanted && event === 'session.closing' && data.code === wanted
    ? []
    : [`the session of the actor ended with ${code} after ${JSON.stringify({ event, data })}`]
}

/**
 * Tests whether a difference comes from the test: markers are in the conversation with the system,
 * and reading answers delivers messages.
 */
const isOfTest = (difference: string): boolean =>
  /^(log 0\/|history of 0:|list: 0 |unread of 0:)|peer_delivered_seq/.test(difference)

/** Returns the differences from the answers that remain after all collected events have arrived. */
async function differences(
  cast: Cast,
  { role, known, store }: { role: WatchedRole; known: Answers; store: UserStore },
): Promise<{ found: string[]; answers: Answers }> {
  const until = performance.now() + patienceMs
  for (;;) {
    const answers = await cast.answersOf(role)
    const frames = cast.watchers[role].take()
    for (const frame of frames) store.apply(frame)
    if (frames.some(({ event }) => event === 'sync.needed')) {
      syncs++
      await cast.catchUp(role, store, known)
    }
    const found = store.differences(answers)
    if (found.length === 0 || performance.now() > until) return { found, answers }
    await sleep(50)
  }
}

/** Returns the events that devices received after an operation that has none. */
function received({ watchers }: Cast): string[] {
  return watched.flatMap((role) =>
    watchers[role].received
      .filter((frame) => frame.event && !isMarker(frame) && frame.event !== 'message.delivered')
      .map((frame) => `${role} received ${JSON.stringify(frame)}`),
  )
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const all: T[][] = []
  for (let start = 0; start < items.length; start += size)
    all.push(items.slice(start, start + size))
  return all
}
