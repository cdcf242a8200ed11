/** Guesses of answers (rule D2) and of numbers (rule A2b) are slowed down. */
import { type Answer, type Api, anyBackend, type Session } from '@hermod/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { apply, authModes, changeSettings, codes, mobileOf } from '../support/contacts.js'
import { ownServer } from '../support/in-process-server.js'

const answer = 'Blue'

describe.each(anyBackend())('guesses on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_LOGIN_USER_FAILURES: '5',
    HERMOD_LOGIN_ADDRESS_FAILURES: '20',
    HERMOD_RATE_LIMIT: 'on',
    HERMOD_USER_RATE: '100000',
    HERMOD_USER_BURST: '100000',
    HERMOD_ADDRESS_RATE: '100000',
    HERMOD_ADDRESS_BURST: '100000',
    HERMOD_APP_RATE: '100000',
    HERMOD_APP_BURST: '100000',
  })

  afterAll(async () => {})

  const aUser = () => server.api.newSession()

  /** A user who asks applicants a question. */
  async function anAsking(): Promise<Session> {
    const user = await aUser()
    const settings = { auth_mode: authModes.question, auth_question: 'Which?', auth_answer: answer }
    await changeSettings(user, settings)
    return user
  }

  const tell = (api: Api, { id }: Session, auth_answer?: string) => apply(api, id, { auth_answer })

  async function guess(api: Api, target: Session, times: number): Promise<Answer[]> {
    const calls = Array.from({ length: times }, (_, index) => tell(api, target, `guess ${index}`))
    return Promise.all(calls)
  }

  it('wrong answers: the caller waits at this target, and for no other one', async () => {
    const [caller, target, other] = [await aUser(), await anAsking(), await anAsking()]
    const answers = codes(await guess(caller.api, target, 20))
    expect(answers.filter((code) => code === answerCode.wrong_auth_answer)).toHaveLength(5)
    expect(answers.filter((code) => code === answerCode.too_many_requests)).toHaveLength(15)
    await expectCode(tell(caller.api, target, answer), 'too_many_requests')
    await expectCode(tell(caller.api, other, answer), 'ok')
    await expectCode(tell((await aUser()).api, target, answer), 'ok')
    server.clock.set(server.clock.now() + 2_000)
    await expectCode(tell(caller.api, target, answer), 'ok')
  })

  it('wrong answers to many: the caller waits at every target', async () => {
    const [caller, last] = [await aUser(), await anAsking()]
    for (let count = 0; count < 4; count++) await guess(caller.api, await anAsking(), 5)
    await expectCode(tell(caller.api, last, answer), 'too_many_requests')
    await expectCode(tell((await aUser()).api, last, answer), 'ok')
  })

  it('calls without an answer: are no guesses', async () => {
    const [caller, target] = [await aUser(), await anAsking()]
    for (let count = 0; count < 10; count++)
      await expectCode(tell(caller.api, target), 'wrong_auth_answer')
    await expectCode(tell(caller.api, target, answer), 'ok')
  })

  it('numbers that a user tries: are limited for look-ups and changes together, but not with an Admin token', async () => {
    const [caller, other] = [await aUser(), await aUser()]
    const mobile = mobileOf(other.id)
    await other.api.succeed('POST', '/user/mobile', { query: { mobile } })
    const lookUp = (api: Api, number: string) =>
      api.call('GET', '/roster/mobile', { query: { mobile: number } })
    // Fewer at once than a user's calls in progress.
    for (let tried = 0; tried < 299; tried += 23) {
      const tries = Array.from({ length: 23 }, (_, index) =>
        lookUp(caller.api, `+4400000${tried + index}`),
      )
      expect(new Set(codes(await Promise.all(tries)))).toEqual(new Set([answerCode.user_not_found]))
    }
    const take = () => caller.api.call('POST', '/user/mobile', { query: { mobile } })
    expect(codes([await take(), await take(), await lookUp(caller.api, mobile)])).toEqual([
      answerCode.mobile_taken,
      answerCode.too_many_requests,
      answerCode.too_many_requests,
    ])
    const email = await caller.api.call('POST', '/user/email', { body: { email: 'a@example.org' } })
    expect(email.code).toBe(answerCode.too_many_requests)
    await expectCode(lookUp(other.api, mobile), 'ok')
    const admin = server.api.admin({ userId: caller.id })
    await expectCode(lookUp(admin, mobile), 'ok')
  })
})
