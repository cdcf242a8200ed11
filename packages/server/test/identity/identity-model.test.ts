/** Links, issued tokens, revocations and deletions in random order, compared with a simple model (rules C9, C9a). */
import { type Api, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accountCalls } from '../support/accounts.js'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { backendCalls } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'

const maxIdentities = 10
const subjectCount = 24
const userCount = 2

const index = fc.nat({ max: subjectCount - 1 })
const who = fc.nat({ max: 99 })
const device = fc.constantFrom('', 'phone', 'tablet')
/** Links are frequent and deletions rare, so that users reach their limit. */
const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('link' as const), user: who, subject: index }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('unlink' as const),
      user: who,
      subject: index,
      isOwn: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('issue' as const),
      subject: index,
      create: fc.boolean(),
      device,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revoke' as const), subject: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), user: who }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface ModelToken {
  readonly device: string
  isValid: boolean
}

/** What the service should know of a user. */
interface ModelUser {
  readonly hasPassword: boolean
  readonly subjects: Set<string>
  readonly tokens: Map<string, ModelToken>
  isDeleted: boolean
}

describe.each(testBackends())('identities and issued tokens on $name', (backend) => {
  const server = ownServer(backend)
  const admin = (): Api => server.api.admin()
  const { issue, revoke, link, unlink, identitiesOf } = backendCalls(admin)
  const { codeOfToken } = accountCalls(server)
  let runs = 0

  /** One history, on users and subjects of its own. */
  class World {
    readonly #issuer = `run ${++runs}`
    readonly #users = new Map<number, ModelUser>()

    async begin(): Promise<void> {
      const names = Array.from({ length: userCount }, (_, who) => `model_${runs}_${who}`)
      for (const { id } of await server.api.addUsers(names)) this.#add(id, true)
    }

    #add(id: number, hasPassword: boolean): ModelUser {
      const user = { hasPassword, subjects: new Set<string>(), tokens: new Map(), isDeleted: false }
      this.#users.set(id, user)
      return user
    }

    #identity(subject: number) {
      return { issuer: this.#issuer, subject: `person ${subject}` }
    }

    #ownerOf(subject: string): [number, ModelUser] | undefined {
      return [...this.#users].find(([, user]) => user.subjects.has(subject))
    }

    /** Mostly a user who is there, also one who was made later. */
    #pick(who: number): [number, ModelUser] {
      const all = [...this.#users]
      const there = all.filter(([, { isDeleted }]) => !isDeleted)
      const some = there.length === 0 || who % 10 === 0 ? all : there
      return some[who % some.length] as [number, ModelUser]
    }

    async do(step: Step): Promise<void> {
      if (step.do === 'issue') return this.#issue(step)
      if (step.do === 'revoke') return this.#revoke(step.subject)
      const [id, user] = this.#pick(step.user)
      if (step.do === 'delete') return this.#delete(id, user)
      const own = step.do === 'unlink' && step.isOwn ? [...user.subjects][0] : undefined
      const { subject: any, issuer } = this.#identity(step.subject)
      const identity = { issuer, subject: own ?? any }
      const isLink = step.do === 'link'
      const expected = isLink
        ? this.#linkOutcome(user, identity.subject)
        : unlinkOutcome(user, identity.subject)
      const { code } = await (isLink ? link : unlink)(id, identity)
      expect(code).toBe(answerCode[expected])
      if (expected !== 'ok') return
      if (isLink) user.subjects.add(identity.subject)
      else user.subjects.delete(identity.subject)
    }

    #linkOutcome(user: ModelUser, subject: string) {
      if (user.isDeleted) return 'user_deleted'
      if (user.subjects.has(subject)) return 'ok'
      if (user.subjects.size >= maxIdentities) return 'identity_limit_reached'
      return this.#ownerOf(subject) ? 'user_already_bound' : 'ok'
    }

    async #issue({ subject, create, device }: Extract<Step, { do: 'issue' }>): Promise<void> {
      const identity = this.#identity(subject)
      const answer = await issue({
        ...identity,
        ...(create ? { create: {} } : {}),
        ...(device === '' ? {} : { device_guid: device }),
      })
      const owner = this.#ownerOf(identity.subject)
      if (!owner && !create) return expect(answer.code).toBe(answerCode.user_not_found)
      expect([answer.code, answer.envelope.created]).toEqual([200, owner === undefined])
      const { user_id: id, token } = answer.data
      const user = owner?.[1] ?? this.#add(id, false)
      expect(this.#users.get(id)).toBe(user)
      user.subjects.add(identity.subject)
      for (const each of user.tokens.values())
        if (device !== '' && each.device === device) each.isValid = false
      user.tokens.set(token, { device, isValid: true })
    }

    async #revoke(subject: number): Promise<void> {
      const owner = this.#ownerOf(this.#identity(subject).subject)
      const { code } = await revoke(this.#identity(subject))
      expect(code).toBe(owner ? 200 : answerCode.user_not_found)
      for (const token of owner?.[1].tokens.values() ?? []) token.isValid = false
    }

    async #delete(id: number, user: ModelUser): Promise<void> {
      const { code } = await server.api.admin({ userId: id }).call('POST', '/user/delete')
      expect(code).toBe(user.isDeleted ? answerCode.user_deleted : 200)
      user.isDeleted = true
      user.subjects.clear()
      for (const token of user.tokens.values()) token.isValid = false
    }

    async compare(): Promise<void> {
      for (const [id, { isDeleted, subjects, tokens }] of this.#users) {
        for (const [token, { isValid }] of tokens)
          expect((await codeOfToken(token)) === 200).toBe(isValid)
        if (isDeleted) continue
        const linked = (await identitiesOf(id)).map(({ subject }) => subject)
        expect(linked.sort()).toEqual([...subjects].sort())
      }
      const rows = await server.sql.run(
        `select user_id from user_identities where issuer = '${this.#issuer}'`,
      )
      const known = [...this.#users.values()].flatMap(({ subjects }) => [...subjects])
      expect(rows).toHaveLength(known.length)
    }
  }

  it(
    'are those of the model after every history',
    async () => {
      const history = fc.asyncProperty(
        fc.array(step, { maxLength: 60, size: 'max' }),
        async (steps) => {
          const world = new World()
          await world.begin()
          for (const each of steps) await world.do(each)
          await world.compare()
        },
      )
      await checkProperty(backend, history)
    },
    propertyTimeoutMs,
  )
})

function unlinkOutcome({ isDeleted, subjects, hasPassword }: ModelUser, subject: string) {
  if (isDeleted) return 'user_deleted'
  if (!subjects.has(subject)) return 'identity_not_found'
  return subjects.size === 1 && !hasPassword ? 'last_identity' : 'ok'
}
