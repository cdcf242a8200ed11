/** Clients that ask and do not read. */
import { isFullRun, type ServerProcess, type Session, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import {
  Attackers,
  AttackingProcess,
  allGone,
  closedFor,
  expectUnharmed,
  Honest,
  metric,
  patience,
  shortStall,
  startAttacked,
} from '../support/attack.js'
import { textTo } from '../support/messaging/messaging.js'

/** Many requests in one piece. */
function requests(count: number, path: string, headers: readonly string[] = []): string {
  return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`.repeat(
    count,
  )
}

/** A conversation of 120 messages of 64 KiB. */
async function longConversation(server: ServerProcess, [alice, bob]: readonly Session[]) {
  const content = 'x'.repeat(65_536)
  const sender = server.api.admin({ userId: alice?.id ?? 0 })
  const body = textTo([bob?.id ?? 0], content)
  await Promise.all(
    Array.from({ length: 120 }, () => sender.succeed('POST', '/message/send', { body })),
  )
}

/** Returns the path and the headers of a page of a conversation. */
function pageOf(
  { appId }: ServerProcess,
  [reader, other]: readonly [Session, Session],
  limit: number,
): [string, string[]] {
  return [
    `/message/conversation?opposite_id=${other.id}&limit=${limit}&msg_id_start=0`,
    [`app_id: ${appId}`, `access-token: ${reader.token}`],
  ]
}

describe.skipIf(process.platform !== 'linux')('unread answers', () => {
  if (isFullRun)
    it('unread pages on 300 connections: the server keeps its memory bound', async () => {
      await using server = await startAttacked({ env: shortStall })
      const honest = await Honest.on(server)
      const pages = { first: requests(1, '/docs'), times: 2_000 }
      const figures = await honest.beside('300 connections with 2,000 GETs of /docs', async () => {
        await using _ = new AttackingProcess(server.url, Array(300).fill(pages))
        await allGone(server)
      })
      expectUnharmed(figures)
      expect(await closedFor(server, 'waiting_requests')).toBeGreaterThan(0)
    })

  if (isFullRun)
    it('unread pages of history within user limits: the server keeps its memory bound', async () => {
      await using server = await startAttacked({ env: shortStall })
      const honest = await Honest.on(server)
      const users = [await server.api.newSession(), await server.api.newSession()] as const
      await longConversation(server, users)
      using attackers = new Attackers(server.url)
      const figures = await honest.beside(
        'pages of 100 messages of 64 KiB, never read',
        async () => {
          const sockets = await attackers.connect(100)
          for (const [index, socket] of sockets.entries()) {
            const [reader, other] = index % 2 === 0 ? users : [users[1], users[0]]
            socket.write(requests(10, ...pageOf(server, [reader, other], 100)))
          }
          await allGone(server)
        },
      )
      expectUnharmed(figures)
      attackers[Symbol.dispose]()
      await waitFor(async () => (await metric(server, 'hermod_unread_answer_bytes')) === 0, {
        what: 'the end of unread answers',
        ...patience,
      })
    })

  it('unread answers: the connection ends after the configured time', async () => {
    // A second more for each 64 KiB that is unread, so little is.
    const env = {
      HERMOD_STALL_SECONDS: '1',
      HERMOD_CONNECTION_REQUESTS: '1',
      HERMOD_CONNECTION_UNREAD_BYTES: '65536',
    }
    await using server = await startAttacked({ env })
    using attackers = new Attackers(server.url)
    const [socket] = await attackers.connect(1)
    socket?.write(requests(1_000, '/metrics'))
    await waitFor(async () => (await closedFor(server, 'unread_stalled')) === 1, {
      what: 'the end of the connection',
      ...patience,
    })
  })

  it('too many unread answers: the connections that hold most for longest end', async () => {
    await using server = await startAttacked({
      env: { HERMOD_UNREAD_BYTES: '2000000', HERMOD_STALL_SECONDS: '600' },
    })
    const honest = await Honest.on(server)
    const users = [await server.api.newSession(), await server.api.newSession()] as const
    await longConversation(server, users)
    // No limit of a user holds for the application.
    const page = pageOf(server, [{ ...users[0], token: server.adminToken }, users[1]], 5)
    page[1].push(`user_id: ${users[0].id}`)
    using attackers = new Attackers(server.url)
    const figures = await honest.beside('unread answers beyond their budget', async () => {
      for (const socket of await attackers.connect(10)) socket.write(requests(50, ...page))
      await waitFor(async () => (await closedFor(server, 'unread_bytes')) >= 5, {
        what: 'the end of the slowest',
        ...patience,
      })
    })
    expectUnharmed(figures)
    expect(await metric(server, 'hermod_unread_answer_bytes')).toBeLessThanOrEqual(4_000_000)
  })

  if (isFullRun)
    it('many requests at once: a client that reads gets every answer', async () => {
      await using server = await startAttacked()
      using attackers = new Attackers(server.url)
      const [socket] = await attackers.connect(1)
      if (!socket) throw new Error('not connected')
      let answers = 0
      socket.on('data', (chunk) => {
        answers += chunk.toString('latin1').split('HTTP/1.1 200').length - 1
      })
      socket.resume()
      socket.write(requests(3_000, '/healthz'))
      await waitFor(async () => answers >= 2_900, { what: 'the answers', ...patience })
      expect(socket.closed).toBe(false)
    })
})
