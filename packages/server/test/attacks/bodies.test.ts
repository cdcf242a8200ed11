/** Bodies that come slowly, or do not end. */
import { setTimeout as pause } from 'node:timers/promises'
import { isFullRun, type ServerProcess, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  Attackers,
  behindProxy,
  closed,
  closedFor,
  costlyMessages,
  expectUnharmed,
  fromAttacker,
  Honest,
  metric,
  patience,
  sessionsOf,
  shortStall,
  startAttacked,
} from '../support/attack.js'
import { RawConnection } from '../support/raw-http.js'

const mebibyte = 1_048_576
/** Of one user at once, by default. */
const userCalls = 32
const chunkedWaves = isFullRun ? 20 : 5
/** As many as an honest caller needs for a median beside them. */
const costlyWaves = isFullRun ? 30 : 1

function head(server: ServerProcess, token: string, lines: readonly string[]): string {
  return [
    'POST /message/send HTTP/1.1',
    'host: hermod',
    `app_id: ${server.appId}`,
    `access-token: ${token}`,
    'content-type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n')
}

describe.skipIf(process.platform !== 'linux')('bodies that never end', () => {
  if (isFullRun)
    it('unfinished bodies of 1 MiB on many connections: the server keeps its memory bound', async () => {
      await using server = await startAttacked({ env: shortStall })
      const honest = await Honest.on(server)
      const count = 1_500
      const sessions = await sessionsOf(server, Math.ceil(count / userCalls))
      const openings = sessions.map(({ token }) =>
        head(server, token, [`content-length: ${mebibyte}`]),
      )
      using attackers = new Attackers(server.url)
      const body = Buffer.alloc(mebibyte - 1, ' ')
      const figures = await honest.beside(`${count} bodies of 1 MiB less a byte`, async () => {
        for (const [index, socket] of (await attackers.connect(count)).entries()) {
          socket.write(openings[index % openings.length] ?? '')
          socket.write(body)
          // Not all in one turn, because these are the turns of the honest user as well.
          await pause(1)
        }
        await waitFor(async () => (await metric(server, 'hermod_arriving_body_bytes')) < mebibyte, {
          what: 'the end of the bodies',
          ...patience,
        })
      })
      expectUnharmed(figures)
      expect(
        await metric(server, 'hermod_requests_refused_total{reason="body_bytes"}'),
      ).toBeGreaterThan(0)
    })

  it(`bodies in chunks of one byte, 5 at once, ${chunkedWaves} times: the server cuts each one off`, async () => {
    await using server = await startAttacked()
    const honest = await Honest.on(server)
    const { token } = await server.api.newSession()
    using attackers = new Attackers(server.url)
    const opening = head(server, token, ['transfer-encoding: chunked'])
    const body = Buffer.from('1\r\n \r\n'.repeat(200_000))
    const figures = await honest.beside(
      `5 bodies in chunks of a byte at once, ${chunkedWaves} times`,
      async () => {
        // Node's parser makes a buffer of each chunk that one read brings, so that many at once say
        // more of the parser than of the bound.
        for (let wave = 0; wave < chunkedWaves; wave++) {
          const sockets = await attackers.connect(5)
          for (const socket of sockets) {
            // The end of a connection is seen by a reader only.
            socket.resume()
            socket.write(opening)
            socket.write(body)
          }
          // Each of them, so that none is left that was not cut off.
          await Promise.all(sockets.map(closed))
        }
      },
    )
    expectUnharmed(figures)
  })

  it('a stalled body: the server answers 408 after the configured time', async () => {
    await using server = await startAttacked({ env: { HERMOD_STALL_SECONDS: '1' } })
    const { token } = await server.api.newSession()
    using connection = await RawConnection.open(server.url)
    connection.send(`${head(server, token, ['content-length: 1000'])}{`)
    expect(await connection.answer()).toMatchObject({ status: 408 })
    await connection.closed()
    expect(await closedFor(server, 'body_stalled')).toBe(1)
  })

  it('a body without a valid token: the server does not read it', async () => {
    await using server = await startAttacked()
    using connection = await RawConnection.open(server.url)
    connection.send(`${head(server, 'hmu_made_up', [`content-length: ${mebibyte}`])}{`)
    const { status, body } = await connection.answer()
    expect([status, JSON.parse(body).code]).toEqual([200, answerCode.token_invalid])
  })

  it('a body from an address over its limit: the server does not read it', async () => {
    await using server = await startAttacked({
      env: {
        HERMOD_ADDRESS_RATE: '1',
        HERMOD_ADDRESS_BURST: '1',
        HERMOD_STALL_SECONDS: '1',
      },
    })
    const { token } = await server.api.admin().newSession()
    const opening = `${head(server, token, [`content-length: ${mebibyte}`])}{`
    const statusAfterAnother = async () => {
      await server.api.call('GET', '/docs')
      using connection = await RawConnection.open(server.url)
      connection.send(opening)
      return (await connection.answer()).status
    }
    await waitFor(async () => (await statusAfterAnother()) === 429, {
      what: 'a refusal before the body',
      ...patience,
    })
  })

  it('a body while too many others arrive: the server answers 503 with the time to wait', async () => {
    await using server = await startAttacked({ env: { HERMOD_BODY_BYTES: String(mebibyte) } })
    const { token } = await server.api.newSession()
    const connections = await Promise.all(
      Array.from({ length: 3 }, () => RawConnection.open(server.url)),
    )
    try {
      for (const connection of connections)
        connection.send(
          `${head(server, token, [`content-length: ${mebibyte}`])}${' '.repeat(600_000)}`,
        )
      const { status, headers } = await Promise.race(connections.map((each) => each.answer()))
      expect([status, headers['retry-after']]).toEqual([503, '1'])
    } finally {
      for (const connection of connections) connection[Symbol.dispose]()
    }
  })
})

if (isFullRun)
  describe.skipIf(process.platform !== 'linux')('bodies that are costly to parse', () => {
    it('1 MB of JSON in unknown fields, 32 calls at once by each of 4 users: nearly all are refused unparsed', async () => {
      await using server = await startAttacked({ env: behindProxy })
      const honest = await Honest.on(server)
      const bodies = costlyMessages().map((text) => Buffer.from(text))
      const codes: number[] = []
      const figures = await honest.beside('bodies of 1 MB of JSON', async () => {
        const users = await sessionsOf(server, 4)
        for (let wave = 0; wave < costlyWaves; wave++) {
          const calls = users.flatMap(({ api }) =>
            Array.from({ length: userCalls }, async (_, index) => {
              const rawBody = bodies[index % bodies.length] as Buffer
              const { code } = await api.call('POST', '/message/send', { rawBody, ...fromAttacker })
              codes.push(code)
            }),
          )
          await Promise.all(calls)
        }
      })
      expectUnharmed(figures)
      const refusals: readonly number[] = [answerCode.too_many_requests, answerCode.address_limited]
      const refused = codes.filter((code) => refusals.includes(code)).length
      expect(refused).toBeGreaterThan(100 * costlyWaves)
    })
  })
