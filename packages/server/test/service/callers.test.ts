/**
 * Every operation by every kind of caller that the pipeline refuses (rules C1 to C7), in the
 * pipeline alone. The handler is never reached, so nothing changes. walk.test.ts has the callers
 * that are let through, over HTTP and on both databases.
 */
import { callerRules, type ErrorName, type Operation, operations } from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import { parametersOf, sample } from '../support/walk/parameter-values.js'
import {
  identities,
  type Outcome,
  StubbedPipeline,
  subject,
} from '../support/walk/stubbed-pipeline.js'
import {
  callers,
  identityOf,
  principalOf,
  type Verdict,
  verdictOn,
} from '../support/walk/walk-callers.js'
import { intrusionsInto } from '../support/walk/walk-intrusions.js'
import type { Params } from '../support/walk/walk-world.js'

const all = (operations as readonly Operation[]).map((operation) => ({
  id: operation.id,
  operation,
}))
const pipeline = new StubbedPipeline()

/** Well-formed parameters: those that are required. */
function sampleParams(operation: Operation): Params {
  const required = parametersOf(operation).filter(({ isRequired }) => isRequired)
  return Object.fromEntries(required.map(({ name, schema }) => [name, sample(schema)]))
}

/** The handlers of operations of a party ask for the header; walk.test.ts has them. */
function isLeftToHandler({ callers }: Operation, verdict: Verdict): boolean {
  return callers === 'party' && 'header' in verdict && verdict.header === 'user_id'
}

function isRefusal({ principal, error, message }: Outcome, name: ErrorName, header?: string) {
  const namesHeader = header === undefined || message.includes(`header ${header}`)
  return principal === null && error === name && namesHeader
}

it.each(all)(
  '$id: refuses every caller that the operation does not declare',
  async ({ operation }) => {
    let refused = 0
    for (const method of operation.methods) {
      for (const [name, credentials] of Object.entries(callers)) {
        const verdict = verdictOn(operation, credentials)
        if (verdict === null || !('refused' in verdict) || isLeftToHandler(operation, verdict))
          continue
        refused++
        const identity = identityOf(credentials, identities, { subject, params: {} })
        const outcome = await pipeline.call(operation, identity, {}, method)
        expect(
          isRefusal(outcome, verdict.refused, verdict.header),
          `${method} by ${name}: ${verdict.refused} expected, got ${JSON.stringify(outcome)}`,
        ).toBe(true)
      }
    }
    expect(refused).toBeGreaterThan(0)
  },
)

it('every declared caller: reaches the handler as the principal that its headers name', async () => {
  const reached = new Set<string>()
  for (const { id, operation } of all) {
    const params = sampleParams(operation)
    for (const [name, credentials] of Object.entries(callers)) {
      const verdict = verdictOn(operation, credentials)
      if (verdict === null || 'refused' in verdict || verdict.error !== undefined) continue
      const identity = identityOf(credentials, identities, { subject, params })
      const { principal, error, message } = await pipeline.call(operation, identity, params)
      // Sample parameters may contradict each other, which the pipeline checks after the caller.
      if (error === 'invalid_parameter' && !message.includes('header')) continue
      if (error === 'no_permission' && operation.claims.length > 0) continue
      expect(error, `${id} by ${name}: ${message}`).toBeNull()
      reached.add(id)
      const [kind] = principalOf(operation, credentials).split(',')
      expect(principal, `${id} by ${name}`).toMatchObject({ kind })
      if (kind === 'operator') continue
      expect(principal, `${id} by ${name}`).toMatchObject({ appId: identity.appId })
      if (kind === 'user') expect(principal, name).toMatchObject({ userId: subject.id })
      if (kind === 'admin')
        expect(principal, `${id} by ${name}`).toMatchObject({
          userId: identity.userId ?? null,
          adminOf: identity.groupId ?? null,
        })
    }
  }
  expect(reached.size).toBeGreaterThan(150)
})

const claims = all.flatMap(({ id, operation }) =>
  callerRules[operation.callers].tokens.some((kind) => kind === 'user')
    ? operation.claims.map((name) => ({ id, operation, name }))
    : [],
)

it.each(claims)(
  '$id: refuses a user whose $name is another user (rule C5)',
  async ({ operation }) => {
    const { token, appId } = identities.other
    for (const method of operation.methods) {
      for (const id of [subject.id, identities.foreigner.id, 0]) {
        const claimed = Object.fromEntries(operation.claims.map((name) => [name, id]))
        const params = { ...sampleParams(operation), ...claimed }
        const outcome = await pipeline.call(operation, { token, appId }, params, method)
        expect(isRefusal(outcome, 'no_permission'), JSON.stringify(outcome)).toBe(true)
      }
    }
  },
)

describe('a foreign caller reaches a handler as itself, whatever IDs it names', () => {
  const { other, foreigner, groups } = identities
  const admin = { token: identities.tokens['admin foreign'], appId: foreigner.appId }
  const foreignCallers = {
    'a user of the same application': { token: other.token, appId: other.appId },
    'a user of another application': { token: foreigner.token, appId: foreigner.appId },
    'an Admin of another application, for its own user': { ...admin, userId: foreigner.id },
    'an Admin of another application, for the user': { ...admin, userId: subject.id },
    'an Admin of another application, for no user': admin,
    'an Admin of another application, for the group': {
      ...admin,
      userId: foreigner.id,
      groupId: groups.own,
    },
  }
  const names = { username: subject.username, mobile: '+15550000000', email: 'a@example.org' }
  const target = {
    ...{ user: subject.id, message: 31, group: groups.own, announcement: 32, file: 33, task: 34 },
    ...{ log: { low_id: subject.id, high_id: subject.id, is_group: false }, device: 1 },
    endpoint: 35,
    ...{ conversation: subject.id, recipient: { id: subject.id, isGroup: false } },
    ...{ contentType: 0, names },
  }

  it.each(Object.entries(foreignCallers))('%s', async (_, identity) => {
    const own = identity.appId === other.appId ? other.id : foreigner.id
    const allowed = [null, own, 'userId' in identity ? identity.userId : own]
    let reached = 0
    for (const { operation } of all) {
      for (const method of operation.methods) {
        for (const { params } of intrusionsInto(operation, { target }, () => 'name')) {
          const { principal } = await pipeline.call(operation, identity, params, method)
          if (principal === null) continue
          reached++
          expect(principal, operation.id).not.toMatchObject({ kind: 'operator' })
          expect(principal, operation.id).toMatchObject({ appId: identity.appId })
          if ('userId' in principal) expect(allowed, operation.id).toContain(principal.userId)
        }
      }
    }
    expect(reached).toBeGreaterThan(0)
  })
})
