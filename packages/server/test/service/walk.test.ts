/**
 * Every operation, with each of its methods, by every kind of caller that it is open to (rules C1
 * to C7, C6a). callers.test.ts has every operation by the callers that the pipeline refuses; here
 * one operation of each rule of callers refuses them by real tokens.
 */
import {
  callerRules,
  createAdminToken,
  deleteUser,
  errorCatalogue,
  eventsByOperation,
  type Operation,
  operations,
  revokeAdminToken,
  updateAvatars,
  updateProfiles,
} from '@hermod/protocol'
import {
  type Answer,
  anyBackend,
  type Backend,
  isFullRun,
  type Json,
  testBackends,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InProcessServer } from '../support/in-process-server.js'
import {
  type CallerIdentities,
  type Credentials,
  callers,
  claimOf,
  identityOf,
  principalOf,
  type Verdict,
  verdictOn,
} from '../support/walk/walk-callers.js'
import type { Fixture, WalkContext } from '../support/walk/walk-fixture.js'
import { fixtures } from '../support/walk/walk-fixtures.js'
import { newGroup } from '../support/walk/walk-fixtures-groups.js'
import { snapshot } from '../support/walk/walk-snapshot.js'
import { type Account, type Params, WalkWorld } from '../support/walk/walk-world.js'
import { type TestServer, type Watched, WatchedServer } from '../support/watched-server.js'

const fixtureOf = new Map(fixtures.map((fixture) => [fixture.operation.id, fixture]))
const walked = operations
  .filter(({ id }) => fixtureOf.has(id))
  .map((operation) => ({ id: operation.id, operation }))
const codeOf = (name: keyof typeof errorCatalogue) => errorCatalogue[name].code

it('fixtures: one for every operation and no others', () => {
  expect(operations.map(({ id }) => id).filter((id) => !fixtureOf.has(id))).toEqual([])
  expect(fixtures.map(({ operation }) => operation.id).toSorted()).toEqual(
    operations.map(({ id }) => id).toSorted(),
  )
})

/** The first operation of each rule of callers. Those of a party refuse in their handlers, so all of them. */
const representatives = walked.filter(
  ({ operation: { callers } }, index) =>
    callers === 'party' ||
    walked.findIndex(({ operation }) => operation.callers === callers) === index,
)

/** Calls of the walk without events: they use no device, find nothing unread, or set the present value. */
const withoutEvents = new Set([
  'token.id',
  'token.login',
  'token.user',
  'user.register',
  'message.ack',
  'group.settings.allow_member_invitation',
  'group.settings.require_admin_approval',
  'group.settings.unban_all',
  'operator.app.update',
  'operator.user.import',
])

/** On PostgreSQL: callers without a group whose call succeeds, of which the first one calls. */
function isTriedOn({ name }: Backend, { group }: Credentials, verdict: Verdict | null): boolean {
  if (name === 'sqlite') return true
  return group === undefined && verdict !== null && 'reaches' in verdict && !verdict.error
}

/** The pipeline gives several callers the same principal; callers.test.ts has all of them. */
function onePerPrincipal<T extends { readonly name: string }>(
  operation: Operation,
  attempts: readonly T[],
): T[] {
  const byPrincipal = new Map(
    attempts.map((each) => [principalOf(operation, callers[each.name] as Credentials), each]),
  )
  return [...byPrincipal.values()]
}

/**
 * Callers with every user and every group that an Admin may name, but not with every pair of them.
 * Another group of the application stands for one of another application where both are let through.
 */
function onePerHeader<T extends { readonly name: string; readonly verdict: Verdict }>(
  attempts: readonly T[],
): T[] {
  const seen = new Set<string>()
  return attempts.filter(({ name, verdict }) => {
    const { token, user = 'nobody', group = 'nobody' } = callers[name] as Credentials
    const error = ('reaches' in verdict && verdict.error) || ''
    const place = group === 'foreign' && !error ? 'other' : group
    const headers = [`${token} user ${user} ${error}`, `${token} group ${place} ${error}`]
    const isNew = headers.some((each) => !seen.has(each))
    for (const each of headers) seen.add(each)
    return isNew
  })
}

/** A well-formed token that the service never issued. */
function another(token: string): string {
  return token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a')
}

describe.each(testBackends())('callers on $name', (backend) => {
  let watched: Watched & AsyncDisposable
  let server: TestServer
  let world: WalkWorld
  let identities: CallerIdentities
  let context: WalkContext
  let cases = 0
  // Neither HTTP nor refusals depend on the database.
  const isOverHttp = anyBackend().some(({ name }) => name === backend.name)

  beforeAll(async () => {
    // Webhooks may go to this machine, where nothing listens.
    const settings = {
      HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
      // Each refused append leaves a message open, whose end is no event of another operation.
      HERMOD_STREAMS_PER_SENDER: '1000',
      HERMOD_STREAM_SILENT_SECONDS: '3600',
    }
    watched = isOverHttp
      ? await WatchedServer.start(backend, { env: settings })
      : await InProcessServer.start(backend, settings)
    server = watched.server
    world = await WalkWorld.create(server)
    const [subject, friend, other] = [
      await world.newPerson(),
      await world.newPerson(),
      await world.newPerson(),
    ]
    const [foreigner, inDisabled] = [
      await world.newPerson(world.there),
      await world.newPerson(world.closed),
    ]
    await world.close()
    context = { world, subject, friend }
    const [own, others, foreign] = [
      await newGroup(world, subject),
      await newGroup(world, other),
      await newGroup(world, foreigner),
    ]
    const groups = { own, other: others, foreign }
    identities = {
      here: world.here,
      disabled: world.closed,
      foreigner,
      other,
      inDisabled,
      groups,
      tokens: await tokens(foreigner),
    }
  })

  afterAll(() => watched?.[Symbol.asyncDispose]())

  async function tokens(foreigner: Account): Promise<CallerIdentities['tokens']> {
    const [expired, revoked] = [await world.newPerson(), await world.newPerson()]
    const change = (set: string, { id }: Account) =>
      watched.sql.run(`update user_tokens set ${set} where user_id = ${id}`)
    await change(`expires_at = ${Date.now() - 1}`, expired)
    await change('revoked_at = 1', revoked)
    return {
      malformed: 'x',
      'user expired': expired.token,
      'user revoked': revoked.token,
      'user unknown': another(expired.token),
      'user foreign': foreigner.token,
      'admin valid': server.adminToken,
      'admin expired': (await newAdminToken({ expires_at: 1 })).token,
      'admin revoked': await revokedAdminToken(),
      'admin unknown': another(world.there.adminToken),
      'admin foreign': world.there.adminToken,
      'operator valid': server.operatorToken,
      'operator unknown': another(server.operatorToken),
    }
  }

  async function newAdminToken(more: Params = {}): Promise<{ token: string; token_id: number }> {
    const params = { app_id: server.appId, name: 'walk', ...more }
    return (await world.prepare(createAdminToken as Operation, world.operator, params))?.data
  }

  async function revokedAdminToken(): Promise<string> {
    const { token, token_id } = await newAdminToken()
    await world.prepare(revokeAdminToken as Operation, world.operator, {
      app_id: server.appId,
      token_id,
    })
    return token
  }

  /** A context for one call that is to do its work. */
  async function newContext(fixture: Fixture): Promise<WalkContext> {
    return fixture.needsVictim && world.isBuilt(fixture.operation)
      ? { ...context, subject: await world.newPerson() }
      : context
  }

  function expectedCode({ operation, error }: Fixture, verdict: Verdict): number {
    if ('refused' in verdict) return codeOf(verdict.refused)
    if (operation.socket === 'only') return codeOf('socket_needed')
    if (!world.isBuilt(operation)) return codeOf('not_built')
    const name = verdict.error ?? error
    return name === undefined ? 200 : codeOf(name)
  }

  function isAsExpected(answer: Answer, code: number, verdict: Verdict): boolean {
    if (answer.status !== 200) return false
    const isFile = !`${answer.headers['content-type']}`.startsWith('application/json')
    if (isFile) return code === 200
    const { code: found, data, message } = answer.envelope
    if (found !== code) return false
    if (code === 200) return message === null && !answer.text.includes('"result":"fail"')
    return (
      data === null &&
      ('refused' in verdict && verdict.header
        ? `${message}`.includes(`header ${verdict.header}`)
        : true)
    )
  }

  /** @returns what was wrong, as a sentence */
  async function violationsOf(
    fixture: Fixture,
    { method, name, verdict, at, params }: Attempt,
  ): Promise<string[]> {
    cases++
    const { operation } = fixture
    const identity = identityOf(callers[name] as Credentials, identities, {
      subject: at.subject,
      params,
    })
    const answer = await world.call(operation, identity, params, method)
    const code = expectedCode(fixture, verdict)
    return isAsExpected(answer, code, verdict)
      ? []
      : [`${method} ${operation.path} by ${name}: expected ${code}, got ${answer.text}`]
  }

  interface Attempt {
    readonly method: string
    readonly name: string
    readonly verdict: Verdict
    readonly at: WalkContext
    readonly params: Params
  }

  function attempts(
    operation: Operation,
    isRefusal: boolean,
  ): Pick<Attempt, 'method' | 'name' | 'verdict'>[] {
    return operation.methods.flatMap((method) => {
      const found = Object.entries(callers).flatMap(([name, credentials]) => {
        const verdict = verdictOn(operation, credentials)
        const isTried = isRefusal || isFullRun || isTriedOn(backend, credentials, verdict)
        return verdict !== null && 'refused' in verdict === isRefusal && isTried
          ? [{ method, name, verdict }]
          : []
      })
      if (isRefusal || isFullRun) return found
      const tried = onePerHeader(onePerPrincipal(operation, found))
      // Methods differ in how parameters are read, and not in what callers may do.
      const isFirst = method === operation.methods[0]
      return backend.name === 'sqlite' && isFirst ? tried : tried.slice(0, 1)
    })
  }

  /** What the subject and the friend see of what is theirs, and of the group that a call is about. */
  const everything = ({ group_id }: Params = {}) => {
    const both = [context.subject, context.friend]
    return Promise.all(
      both.map((person) =>
        snapshot(world, person, both, typeof group_id === 'number' ? [group_id] : []),
      ),
    )
  }

  it.each(isOverHttp ? representatives : [])(
    '$id: refuses the callers that it does not declare and changes nothing',
    async ({ operation }) => {
      const fixture = fixtureOf.get(operation.id) as Fixture
      const params = await fixture.params(context)
      const before = await everything(params)
      const wrong = attempts(operation, true).map((attempt) =>
        violationsOf(fixture, { ...attempt, at: context, params }),
      )
      expect((await Promise.all(wrong)).flat()).toEqual([])
      expect(await everything(params)).toEqual(before)
    },
  )

  /** The kinds of the events that work appends, in any application. */
  async function kindsAppendedBy(work: () => Promise<void>): Promise<string[]> {
    const heads = await watched.sql.run('select app_id, position from outbox_heads')
    await work()
    const later = heads.map((head) => `app_id = '${head.app_id}' and position > ${head.position}`)
    const rows = await watched.sql.run(
      `select distinct kind from outbox where ${later.join(' or ')} order by kind`,
    )
    return rows.map((row) => String(row.kind))
  }

  it.each(walked)(
    '$id: lets the declared callers through and does its work',
    async ({ operation }) => {
      const fixture = fixtureOf.get(operation.id) as Fixture
      const wrong: string[] = []
      const seen = new Set<string>()
      for (const attempt of attempts(operation, false)) {
        const at = await newContext(fixture)
        const params = await fixture.params(at)
        const kinds = await kindsAppendedBy(async () => {
          wrong.push(...(await violationsOf(fixture, { ...attempt, at, params })))
        })
        for (const kind of kinds) seen.add(kind)
      }
      expect(wrong).toEqual([])
      const known = eventsByOperation[operation.id] ?? []
      const allowed = typeof known === 'string' ? [] : known
      expect(allowed, `events of ${operation.id}`).toEqual(expect.arrayContaining([...seen]))
      expect(seen.size > 0, `${operation.id} appends events`).toBe(
        allowed.length > 0 && !withoutEvents.has(operation.id),
      )
    },
  )

  /**
   * Operations whose handlers check the parameter that says who is calling; the pipeline checks
   * the others.
   */
  const claims = walked.flatMap(({ id, operation }) => {
    const name = claimOf(operation)
    const isOpenToUsers = callerRules[operation.callers].tokens.some((kind) => kind === 'user')
    return name === null || operation.claims.length > 0 || !isOpenToUsers
      ? []
      : [{ id, operation, name }]
  })

  it.each(isOverHttp ? claims : [])(
    '$id: refuses a user whose $name is another user (rule C5)',
    async ({ operation, name }) => {
      const fixture = fixtureOf.get(operation.id) as Fixture
      const { appId } = context.subject
      // Making them may store something.
      const own = await fixture.params(context)
      const before = await everything()
      for (const method of operation.methods) {
        for (const id of [context.subject.id, identities.foreigner.id, 0]) {
          cases++
          const params = { ...own, [name]: id }
          const answer = await world.call(
            operation,
            { token: identities.other.token, appId },
            params,
            method,
          )
          const code = codeOf(world.isBuilt(operation) ? 'no_permission' : 'not_built')
          expect(answer, `${method} ${name} ${id}`).toMatchObject({ status: 200, code, data: null })
        }
      }
      expect(await everything()).toEqual(before)
    },
  )

  const batches = [updateProfiles, updateAvatars].map((operation) => ({
    id: operation.id,
    operation: operation as Operation,
  }))

  it.each(batches)(
    '$id: changes the own user of the caller only, entry by entry (rule C6a)',
    async ({ operation }) => {
      if (!world.isBuilt(operation)) return
      const { other, foreigner } = identities
      const change = { nick_name: 'changed', avatar: 'https://example.org/changed.png' }
      const list = [context.subject, other, foreigner].map(({ id }) => ({ user_id: id, ...change }))
      const before = await everything()
      for (const method of operation.methods) {
        cases++
        const { data } = (
          await world.call(operation, { token: other.token, appId: other.appId }, { list }, method)
        ).envelope
        expect(data.map(({ user_id, success }: Json) => [user_id, success])).toEqual([
          [context.subject.id, false],
          [other.id, true],
          [foreigner.id, false],
        ])
      }
      expect(await everything()).toEqual(before)
    },
  )

  it('user.delete: needs the password of the user unless an Admin calls', async () => {
    if (!world.isBuilt(deleteUser as Operation)) return
    const victim = await world.newPerson()
    const own = { token: victim.token, appId: victim.appId }
    for (const params of [{}, { password: 'not mine at all' }]) {
      const { code } = await world.call(deleteUser as Operation, own, params)
      expect([codeOf('invalid_parameter'), codeOf('password_incorrect')]).toContain(code)
    }
    expect(await world.call(deleteUser as Operation, world.adminFor(victim), {})).toMatchObject({
      code: 200,
    })
  })

  it('integrity check: finds no fault after the walk', async () => {
    const { data } = await server.api.as(server.operatorToken).succeed('POST', '/operator/v1/check')
    expect(data.faults).toEqual([])
    console.info(`walk: ${cases} cases over ${walked.length} operations on ${backend.name}`)
  })
})
