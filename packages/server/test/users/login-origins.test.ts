/** Rule D2: failed logins delay the network that made them, and no device or network of the user. */
import { type Account, type Answer, testBackends } from '@hermod/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

const home = '198.51.100.7'
const minuteMs = 60_000

describe.each(testBackends())('origins of logins on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_LOGIN_USER_FAILURES: '5',
    HERMOD_LOGIN_ADDRESS_FAILURES: '20',
  })

  afterAll(async () => {})

  function logIn(user: Account, address: string, more: object = {}): Promise<Answer> {
    return server.api.call('POST', '/token/id', {
      body: { user_id: user.id, password: user.password, ...more },
      headers: { 'x-forwarded-for': address },
    })
  }

  const guess = (user: Account, address: string, more: object = {}) =>
    logIn(user, address, { password: 'wrong', ...more })

  const networksOf = async ({ id }: Account) =>
    (
      await server.sql.run(
        `select network from login_networks where user_id = ${id} order by logged_in_at desc, network`,
      )
    ).map(({ network }) => network)

  it('failed logins of a network: delay it, and neither other networks nor devices of the user', async () => {
    const alice = await server.api.register()
    expect((await logIn(alice, home, { device_guid: 'phone' })).code).toBe(200)
    const attacker = '192.0.2.66'
    for (let count = 0; count < 5; count++)
      await expectCode(guess(alice, attacker), 'password_incorrect')
    await expectCode(logIn(alice, attacker), 'too_many_requests')
    expect((await logIn(alice, attacker, { device_guid: 'phone' })).code).toBe(200)
    for (const address of [home, '203.0.113.5'])
      expect((await logIn(alice, address)).code).toBe(200)
  })

  it('a crowd of new networks: takes turns, and never delays known devices and networks, also after a restart', async () => {
    const alice = await server.api.register()
    expect((await logIn(alice, home, { device_guid: 'phone' })).code).toBe(200)
    await server.stop()
    await server.startAgain()
    for (let count = 1; count <= 5; count++)
      await expectCode(guess(alice, `192.0.2.${count}`), 'password_incorrect')
    const newcomer = logIn(alice, '203.0.113.5')
    expect((await logIn(alice, home)).code).toBe(200)
    expect((await logIn(alice, '203.0.113.6', { device_guid: 'phone' })).code).toBe(200)
    server.clock.set(server.clock.now() + minuteMs)
    expect((await newcomer).code).toBe(200)
  })

  it('known networks: are written by logins that succeed, at most 20 of a user, and erased with the user', async () => {
    const alice = await server.api.register()
    await guess(alice, '192.0.2.1')
    expect(await networksOf(alice)).toEqual([])
    for (const address of [home, home, '2001:db8::1', '2001:db8::2'])
      expect((await logIn(alice, address)).code).toBe(200)
    expect((await networksOf(alice)).toSorted()).toEqual([home, '2001:db8:0:0::/64'])
    const rows = Array.from(
      { length: 25 },
      (_, index) => `('${server.appId}', ${alice.id}, '203.0.113.${index}', ${index})`,
    )
    await server.sql.run(`insert into login_networks values ${rows}`)
    expect((await logIn(alice, '192.0.2.9')).code).toBe(200)
    const kept = await networksOf(alice)
    expect(kept).toHaveLength(20)
    expect(kept).toContain('192.0.2.9')
    expect(kept).toContain('203.0.113.24')
    expect(kept).not.toContain('203.0.113.0')
    await server.api.admin({ userId: alice.id }).succeed('POST', '/user/delete', { body: {} })
    expect(await networksOf(alice)).toEqual([])
  })
})
