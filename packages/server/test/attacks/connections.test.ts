/** Connections that take the place of others, and what waits for the disk. */
import { isFullRun, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  Attackers,
  closedFor,
  expectUnharmed,
  Honest,
  metric,
  patience,
  sessionsOf,
  startAttacked,
} from '../support/attack.js'
import { addUsers } from '../support/messaging/broadcasts.js'
import { textTo } from '../support/messaging/messaging.js'

describe.skipIf(process.platform !== 'linux')('connections', () => {
  it('connections beyond the limit of an address: are closed, other addresses are served', async () => {
    await using server = await startAttacked({ env: { HERMOD_ADDRESS_CONNECTIONS: '20' } })
    const honest = await Honest.on(server)
    using attackers = new Attackers(server.url)
    const figures = await honest.beside(
      '100 connections of an address that may have 20',
      async () => {
        await attackers.connect(100)
        await waitFor(async () => (await closedFor(server, 'address_connections')) === 80, {
          what: 'the end of 80 connections',
          ...patience,
        })
      },
    )
    expectUnharmed(figures)
    expect(await closedFor(server, 'address_connections')).toBe(80)
  })

  it('connections beyond the limit of the server: replace idle ones of the address that has most', async () => {
    await using server = await startAttacked({ env: { HERMOD_CONNECTIONS: '30' } })
    const honest = await Honest.on(server)
    using attackers = new Attackers(server.url)
    const figures = await honest.beside('100 idle connections of 30', async () => {
      await attackers.connect(100)
      await waitFor(async () => (await closedFor(server, 'connections')) >= 70, {
        what: 'the end of 70 connections',
        ...patience,
      })
    })
    expectUnharmed(figures)
    server.api.close()
    expect((await honest.send('on a new connection')).code).toBe(200)
  })

  it('connections beyond the limit of the server: get 503 while none is idle', async () => {
    await using server = await startAttacked({ env: { HERMOD_CONNECTIONS: '10' } })
    using attackers = new Attackers(server.url)
    const head = `POST /user/register/v2 HTTP/1.1\r\nhost: hermod\r\napp_id: ${server.appId}\r\ncontent-length: 99\r\n\r\n`
    const call = () => server.api.call('GET', '/app/config', { query: { platform: 1 } })
    const refused = await waitFor(
      async () => {
        for (const socket of await attackers.connect(1)) socket.write(head)
        const answer = await call().catch(() => null)
        return answer?.status === 503 && answer
      },
      { what: 'a refusal', ...patience },
    )
    expect([refused.code, refused.headers['retry-after']]).toEqual([answerCode.unavailable, '1'])
    attackers[Symbol.dispose]()
    await waitFor(async () => (await call().catch(() => null))?.code === 200, {
      what: 'an answer',
      ...patience,
    })
  })

  if (isFullRun)
    it('thousands of idle connections: the server keeps its memory bound', async () => {
      await using server = await startAttacked()
      const honest = await Honest.on(server)
      using attackers = new Attackers(server.url)
      const figures = await honest.beside('5,000 idle connections', async () => {
        for (let i = 0; i < 10; i++) await attackers.connect(500)
        await waitFor(async () => (await metric(server, 'hermod_connections')) >= 5_000, {
          what: '5,000 connections',
          ...patience,
        })
      })
      expectUnharmed(figures)
    })
})

describe('pages', () => {
  it('pages: count for the address of the caller, health pages do not', async () => {
    await using server = await startAttacked({
      env: { HERMOD_ADDRESS_RATE: '1', HERMOD_ADDRESS_BURST: '5' },
    })
    for (const path of ['/docs', '/docs/reference.js', '/openapi.json', '/metrics']) {
      const answers = await Promise.all(
        Array.from({ length: 60 }, () => server.api.call('GET', path)),
      )
      const refused = answers.filter(({ status }) => status === 429)
      expect(refused.length, path).toBeGreaterThan(0)
      for (const { headers } of refused) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
    }
    for (let calls = 0; calls < 20; calls++)
      expect((await server.api.call('GET', '/healthz')).status).toBe(200)
  })
})

describe.skipIf(process.platform !== 'linux')('messages that wait for a commit', () => {
  it('messages that wait for a commit: large ones are refused when space is short, small ones are not', async () => {
    await using server = await startAttacked()
    const honest = await Honest.on(server)
    const senders = await sessionsOf(server, 12)
    const targets = (await addUsers(server.api.admin(), 200)).map(({ id }) => id)
    const content = 'x'.repeat(65_000)
    const figures = await honest.beside('12 users with sends of 64 KiB to 200 others', async () => {
      const answers = await Promise.all(
        senders.map(({ api }) =>
          api.call('POST', '/message/send', { body: textTo(targets, content) }),
        ),
      )
      const refused = answers.filter(({ status }) => status === 503)
      expect(refused.length).toBeGreaterThan(0)
      expect(refused.length).toBeLessThan(senders.length)
      for (const { headers, code } of refused)
        expect([code, headers['retry-after']]).toEqual([answerCode.unavailable, '1'])
    })
    expectUnharmed(figures)
    expect(await metric(server, 'hermod_message_queue_refusals_total')).toBeGreaterThan(0)
  })
})
