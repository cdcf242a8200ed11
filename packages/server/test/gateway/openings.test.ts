/** Sessions of new devices that open at the same time. */
import { type Account, GatewayClient, type Session, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'

describe.each(testBackends())('openings at the same time on $name', (backend) => {
  const server = sharedServer(backend)

  /**
   * Opens all sessions at once.
   * @returns the serial number of each device, the code of a refusal, or undefined for a session that
   * another one has replaced before its answer
   */
  async function openAll(
    openings: readonly { readonly session: Session; readonly deviceGuid: string }[],
  ): Promise<(number | undefined)[]> {
    const clients = await Promise.all(openings.map(() => GatewayClient.connect(server.url)))
    const answers = await Promise.all(
      openings.map(({ session, deviceGuid }, index) =>
        clients[index]
          ?.open({ appId: server.appId, accessToken: session.token, deviceGuid })
          .catch(() => null),
      ),
    )
    for (const client of clients) client[Symbol.dispose]()
    return answers.map((answer) => answer?.data?.device_sn ?? answer?.code)
  }

  async function sessionsOf(user: Account, count: number): Promise<Session[]> {
    return Promise.all(Array.from({ length: count }, () => server.api.sessionOf(user)))
  }

  async function devicesOf(session: Session): Promise<number[]> {
    const { data } = await session.api.succeed('GET', '/user/device/list')
    return data.map((device: { readonly device_sn: number }) => device.device_sn)
  }

  /** The kinds of the events about the devices of a user, in their order. */
  async function deviceEvents({ id }: Account): Promise<unknown[]> {
    const rows = await server.sql.run(
      `select kind from outbox where kind like 'user.device\\_%' escape '\\' and payload like '%"actor_id":${id},%' order by position`,
    )
    return rows.map(({ kind }) => kind)
  }

  it('give each device of each user a serial number of its own', async () => {
    const users = await Promise.all(Array.from({ length: 6 }, () => server.api.register()))
    const sessions = await Promise.all(users.map((user) => sessionsOf(user, 3)))
    const openings = sessions.flatMap((own) =>
      own.map((session, index) => ({ session, deviceGuid: `device ${index}` })),
    )
    const serials = await openAll(openings)
    for (const [index, own] of sessions.entries()) {
      expect(serials.slice(index * 3, index * 3 + 3).toSorted()).toEqual([1, 2, 3])
      expect(await devicesOf(own[0] as Session)).toEqual([1, 2, 3])
    }
    // Each token is tied to its device by now.
    expect(await openAll(openings.map((each) => ({ ...each, deviceGuid: 'another' })))).toEqual(
      openings.map(() => answerCode.no_permission),
    )
    expect(await openAll(openings)).toEqual(serials)
  })

  it('make one device of one GUID', async () => {
    const sessions = await sessionsOf(await server.api.register(), 4)
    const openings = sessions.map((session) => ({ session, deviceGuid: 'phone' }))
    await openAll(openings)
    expect(await devicesOf(sessions[0] as Session)).toEqual([1])
    expect(await openAll(openings.slice(0, 1))).toEqual([1])
  })

  it('tie a token to one device, and refuse the others alone', async () => {
    const [greedy, modest] = await Promise.all([server.api.newSession(), server.api.newSession()])
    const guids = Array.from({ length: 5 }, (_, index) => `device ${index}`)
    const openings = [
      ...guids.map((deviceGuid) => ({ session: greedy, deviceGuid })),
      { session: modest, deviceGuid: 'phone' },
    ]
    const results = await openAll(openings)
    expect(results.pop()).toBe(1)
    const refused = results.filter((result) => result === answerCode.no_permission)
    expect(refused).toHaveLength(guids.length - 1)
    expect(await devicesOf(greedy)).toHaveLength(1)
    for (const session of [greedy, modest])
      expect(await deviceEvents(session)).toEqual(['user.device_added'])
  })

  if (backend.name === 'postgres')
    it('wait for users that another transaction has locked beside the others, and a login on a known device does not wait', async () => {
      const newSessions = (count: number): Promise<Session[]> =>
        Promise.all(Array.from({ length: count }, () => server.api.newSession()))
      // More than the pool has connections.
      const locked = await newSessions(20)
      const known = await server.api.newSession()
      const others = await newSessions(4)
      const onPhone = (session: Session) => ({ session, deviceGuid: 'phone' })
      await server.api.login(known, 'phone')
      const ids = [...locked, known].map(({ id }) => id)
      await server.sql.run('begin')
      let waiting: Promise<unknown>
      try {
        await server.sql.run(
          `select 1 from users where user_id in (${ids.join()}) for no key update`,
        )
        waiting = openAll([...locked, known].map(onPhone))
        expect(await openAll(others.map(onPhone))).toEqual(others.map(() => 1))
        await server.api.login(known, 'phone')
      } finally {
        await server.sql.run('commit')
      }
      expect(await waiting).toEqual(ids.map(() => 1))
    })
})
