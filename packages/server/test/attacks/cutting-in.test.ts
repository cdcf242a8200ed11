/**
 * Floods of calls that end what others wait for: passwords that change, and users who are disabled,
 * deleted and logged in meanwhile.
 */
import {
  type Account,
  type Answer,
  type Api,
  anyBackend,
  type Backend,
  isFullRun,
  type ServerProcess,
  sharedPassword,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  attackMs,
  behindProxy,
  expectUnharmed,
  flood,
  fromAttacker,
  Honest,
  sessionsOf,
  startAttacked,
} from '../support/attack.js'
import { addUsers } from '../support/messaging/broadcasts.js'

/** What a call of an attacker may end in. */
const expected = new Set<number>([
  answerCode.ok,
  answerCode.password_incorrect,
  answerCode.too_many_requests,
  answerCode.address_limited,
  answerCode.unavailable,
  answerCode.user_disabled,
  answerCode.user_deleted,
  answerCode.token_invalid,
  answerCode.token_expired,
])

/** As {@link flood}, for the time of an attack; nothing but what is expected is answered. */
async function cutIn(lines: number, call: (line: number) => Promise<Answer>): Promise<void> {
  const codes = await flood({ ms: attackMs, lines }, call)
  for (const code of codes.keys()) expect(expected).toContain(code)
}

function logIn(api: Api, { id, password }: Pick<Account, 'id' | 'password'>, from = {}) {
  return api.call('POST', '/token/id', { body: { user_id: id, password }, ...from })
}

/** Somebody honest who also logs in. */
async function beside(
  server: ServerProcess,
  what: string,
  attack: () => Promise<unknown>,
): Promise<void> {
  const honest = await Honest.on(server)
  const carol = await server.api.register()
  const logins = () => logIn(server.api, carol)
  expectUnharmed(await honest.beside(what, attack, { logins }))
}

function suite(backend: Backend): void {
  const name = (what: string) => `${what} (${backend.name})`

  it('20 users change passwords, 16 at a time, and log in: other logins are served', async () => {
    await using server = await startAttacked({ env: behindProxy }, backend)
    const users = await sessionsOf(server, 20)
    await beside(server, name('changes of passwords'), () =>
      cutIn(20 * 16, (index) => {
        const user = users[index % users.length] as Account & { api: Api }
        if (index % 4 === 0) return logIn(server.api, user, fromAttacker)
        const body = { old_password: user.password, new_password: user.password }
        return user.api.call('POST', '/user/change_password', { body, ...fromAttacker })
      }),
    )
  })

  if (isFullRun)
    it('an application server changes 200 passwords at a time: other logins are served', async () => {
      await using server = await startAttacked({ env: behindProxy }, backend)
      const users = await addUsers(server.api.admin(), 200)
      await beside(server, name('changes of passwords by an application server'), () =>
        cutIn(400, (index) => {
          const { api, id } = users[index % users.length] as (typeof users)[number]
          if (index % 2 === 0) return logIn(api, { id, password: sharedPassword })
          return api.call('POST', '/user/change_password_admin', {
            body: { password: sharedPassword },
          })
        }),
      )
    })

  if (isFullRun)
    it('lists of users are disabled and enabled: other logins are served', async () => {
      await using server = await startAttacked({ env: behindProxy }, backend)
      const admin = server.api.admin()
      const ids = (await addUsers(admin, 200)).map(({ id }) => id)
      await beside(server, name('users disabled and enabled'), () =>
        cutIn(300, (index) => {
          if (index % 10 === 0)
            return logIn(admin, { id: ids[index % ids.length] as number, password: sharedPassword })
          const path = index % 2 === 0 ? '/user/disable' : '/user/enable'
          return admin.call('PUT', path, { body: { list: ids } })
        }),
      )
    })

  if (isFullRun)
    it('users are deleted: other logins are served', async () => {
      await using server = await startAttacked({ env: behindProxy }, backend)
      const admin = server.api.admin()
      const users = await addUsers(admin, 500)
      await beside(server, name('users deleted'), () =>
        Promise.all(users.map(({ api }) => api.succeed('POST', '/user/delete'))),
      )
    })
}

describe.each(anyBackend())('floods of password work on $name', (backend) => suite(backend))
