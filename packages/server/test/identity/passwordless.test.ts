/** Users without a password, wherever one is asked for (rules D1c, C9). */
import { type Api, anyBackend, type TokenData } from '@hermod/testkit'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { LoginQueue } from '../../dist/domain/login/login-queue.js'
import { PasswordHasher } from '../../dist/domain/login/password-hasher.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'

const [backend] = anyBackend()
const password = 'correct horse'

describe('a user without a password', () => {
  const server = ownServer(backend as NonNullable<typeof backend>)
  const { issued, link } = backendCalls(() => api.admin())
  let api: Api

  beforeAll(() => {
    api = server.api
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  async function newUser() {
    const { data } = await issued({ ...newSubject(), create: {} })
    const own = api.as(data.token)
    const { data: profile } = await own.succeed('GET', '/user/profile')
    return { id: data.user_id, username: profile.username as string, api: own }
  }

  /** The steps of the call that wait in a queue: checks of passwords and changes that follow them. */
  async function stepsOf(call: () => Promise<unknown>): Promise<number> {
    const run = vi.spyOn(LoginQueue.prototype, 'run')
    await call()
    const steps = run.mock.calls.length
    run.mockRestore()
    return steps
  }

  const logIn = (path: string, body: object) => api.call<TokenData>('POST', path, { body })
  const calls: [
    string,
    (user: Awaited<ReturnType<typeof newUser>>, password: string) => Promise<{ code: number }>,
  ][] = [
    ['logs in by ID', ({ id }, password) => logIn('/token/id', { user_id: id, password })],
    [
      'logs in by username',
      ({ username }, password) => logIn('/token/user', { name: username, password }),
    ],
    [
      'logs in by name',
      ({ username }, password) => logIn('/token/login', { login_name: username, password }),
    ],
    [
      'changes the password',
      ({ api: own }, old_password) =>
        own.call('POST', '/user/change_password', {
          body: { old_password, new_password: 'new words' },
        }),
    ],
    [
      'deletes the account',
      ({ api: own }, password) => own.call('POST', '/user/delete', { body: { password } }),
    ],
    [
      'unlinks an identity',
      ({ api: own }, password) =>
        own.call('POST', '/user/identity/unlink', { body: { ...newSubject(), password } }),
    ],
  ]

  it.each(calls)('%s with no password, after the work of a wrong one', async (_, call) => {
    const [user, other] = [await newUser(), { ...(await api.register()), api }]
    const withPassword = { ...other, ...(await api.newSession()) }
    await call(user, password)
    for (const guess of [password, 'x'])
      expect((await call(user, guess)).code).toBe(answerCode.password_incorrect)
    const wrong = await stepsOf(async () => {
      expect((await call(withPassword, 'wrong')).code).toBe(answerCode.password_incorrect)
    })
    expect(wrong).toBe(1)
    expect(await stepsOf(() => call(user, 'wrong'))).toBe(wrong)
  })

  it('takes no step of a password check for an issued token', async () => {
    const user = await newUser()
    const hash = vi.spyOn(PasswordHasher.prototype, 'verify')
    expect(await stepsOf(() => issued({ user_id: user.id }))).toBe(1)
    expect(hash).not.toHaveBeenCalled()
  })

  it('gets a first password from an administrator, and then logs in', async () => {
    const user = await newUser()
    const admin = api.admin({ userId: user.id })
    await admin.succeed('POST', '/user/change_password_admin', { body: { password } })
    await expectCode(user.api.call('GET', '/user/profile'), 'token_expired')
    const { data } = await api.succeed('POST', '/token/id', {
      body: { user_id: user.id, password },
    })
    expect(data.user_id).toBe(user.id)
  })

  it('is deleted by an administrator', async () => {
    const user = await newUser()
    await api.admin({ userId: user.id }).succeed('POST', '/user/delete')
    await expectCode(link(user.id, newSubject()), 'user_deleted')
  })
})
