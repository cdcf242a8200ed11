/** Every message reaches every store once, although all sockets are cut again and again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isFullRun, type Session, startServer, waitFor } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { aGroup } from '../support/groups/groups.js'
import { textTo } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'
import { StoreClient } from '../support/realtime/store-client.js'

/** HERMOD_TEST_SOCKETS and HERMOD_TEST_SECONDS choose the size of the full run. */
const size = isFullRun
  ? {
      sockets: Number(process.env.HERMOD_TEST_SOCKETS ?? 300),
      ms: Number(process.env.HERMOD_TEST_SECONDS ?? 40) * 1_000,
      everyMs: 15_000,
    }
  : { sockets: 20, ms: 1_500, everyMs: 500 }
const awayMs = isFullRun ? 2_000 : 100
const messageEveryMs = 50
const membersPerGroup = 50

it('cuts of every socket: each message is in each store, none twice', {
  timeout: 300_000,
}, async () => {
  await using server = await startServer()
  const random = new Random(1)
  const names = Array.from({ length: size.sockets }, (_, index) => `user_${index}`)
  const people: Session[] = []
  for (const account of await server.api.addUsers(names))
    people.push(await server.api.sessionOf(account))
  const groups: { id: number; members: Session[]; contents: string[] }[] = []
  for (let start = 0; start < people.length; start += membersPerGroup) {
    const members = people.slice(start, start + membersPerGroup)
    const [owner, ...others] = members as [Session, ...Session[]]
    groups.push({ id: await aGroup(owner, { members: others }), members, contents: [] })
  }
  const clients = people.map(
    ({ id, token }) =>
      new StoreClient({
        ...{ url: () => server.url, appId: server.appId, token, userId: id },
        ...{ deviceGuid: undefined, random, window: 50, awayMs },
      }),
  )
  try {
    await waitFor(() => clients.every(({ isIdle }) => isIdle), {
      what: 'open sessions',
      timeoutMs: 60_000,
    })
    const end = performance.now() + size.ms
    let cuts = 0
    const cutting = clients.map(async (client) => {
      await sleep(random.integer(0, size.everyMs))
      while (performance.now() < end) {
        client.cutAfter(random.integer(0, 500))
        if (random.chance(0.5)) client.leave()
        cuts++
        await sleep(size.everyMs)
      }
    })
    for (let number = 0; performance.now() < end; number++) {
      const { id, members, contents } = random.pick(groups)
      const content = `message ${number}`
      const { api } = random.pick(members)
      await api.succeed('POST', '/message/send', { body: textTo([id], content, { type: 2 }) })
      contents.push(content)
      await sleep(messageEveryMs)
    }
    await Promise.all(cutting)
    const wanted = (id: number) => groups.find(({ members }) => members.some((m) => m.id === id))
    const isComplete = (client: StoreClient) =>
      client.isIdle &&
      [...client.store.logs.values()].some(
        ({ seq }) => seq === wanted(client.store.userId)?.contents.length,
      )
    const isQuiet = () => clients.every(isComplete)
    await waitFor(isQuiet, { what: 'complete stores', timeoutMs: 60_000 }).catch(() => {})
    let delivered = 0
    let twice = 0
    for (const { store } of clients) {
      const group = wanted(store.userId)
      const copy = store.logs.get(`${group?.id}.${group?.id}.true`)
      const held = [...(copy?.messages.values() ?? [])].map(({ content }) => content)
      expect(held.toSorted()).toEqual(group?.contents.toSorted())
      delivered += held.length
      twice += [...(copy?.counts.values() ?? [])].filter((count) => count > 1).length
    }
    expect(twice).toBe(0)
    expect(clients.flatMap(({ wrong }) => wrong)).toEqual([])
    const replays = clients.flatMap(({ replayMs }) => replayMs).toSorted((a, b) => a - b)
    const at = (part: number) => Math.round(replays[Math.floor(part * (replays.length - 1))] ?? 0)
    console.log(
      `${clients.length} sockets, ${cuts} cuts, ${delivered} deliveries, none missing, none twice; ${replays.length} replays: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`,
    )
  } finally {
    await Promise.all(clients.map((client) => client.stop()))
  }
})
