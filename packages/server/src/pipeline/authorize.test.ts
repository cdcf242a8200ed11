import {
  AppError,
  boolean,
  type CallerRule,
  callerRules,
  type Int64,
  int64,
  type Operation,
  operation,
  operations,
  type Scope,
  scopeNames,
} from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { compileSubject, requireCaller } from './authorize.js'
import { adminPrincipal, operatorPrincipal, type Principal, userPrincipal } from './principal.js'

const about = {
  id: 'test.it',
  methods: ['POST'],
  path: '/test',
  tag: 'Tests',
  summary: 'Tests.',
  data: boolean(),
} as const

function aboutGroup(callers: CallerRule): Operation {
  return operation({ ...about, callers, body: { group_id: int64() } }) as Operation
}

function aboutNoGroup(callers: CallerRule): Operation {
  return operation({ ...about, callers, body: { other: int64() } }) as Operation
}

const absent = 404
const user = userPrincipal('home', { userId: 1001, deviceSn: 2, tokenHash: 'hash', isBot: false })

/** What the check answers, at once or later; the users that were asked for are added to `asked`. */
async function outcome(
  what: Operation,
  principal: Principal,
  { params = {}, isAtOnce = true, asked = [] as Int64[] } = {},
): Promise<string> {
  const requireUser = (_: string, userId: Int64): MaybePromise<void> => {
    asked.push(userId)
    const error = userId === absent ? new AppError('user_not_found') : null
    if (isAtOnce && error) throw error
    if (!isAtOnce) return error ? Promise.reject(error) : Promise.resolve()
  }
  try {
    await compileSubject(what)({ requireUser }, principal, params)
    return 'passes'
  } catch (error) {
    return (error as AppError).errorName
  }
}

const rules = Object.keys(callerRules) as CallerRule[]
const checked = rules.filter((rule) => callerRules[rule].subjectExists)

/** The refusal of a caller, or `passes`. */
function refusalOf(what: Operation, principal: Principal): string {
  try {
    requireCaller(what, principal)
    return 'passes'
  } catch (error) {
    return (error as AppError).message
  }
}

describe('the caller of an operation', () => {
  const needing = (callers: CallerRule, ...scopes: Scope[]): Operation => ({
    ...aboutNoGroup(callers),
    scopes,
  })
  const admin = (...scopes: Scope[]) => adminPrincipal('home', 5, null, new Set(scopes))

  it('has a token of a declared kind, before scopes count', () => {
    const anonymous = { kind: 'anonymous', appId: 'home' } as const
    expect(refusalOf(needing('admin', 'push'), user)).toBe('no permission')
    expect(refusalOf(needing('user', 'push'), anonymous)).toBe('no permission')
    expect(refusalOf(needing('device'), admin())).toBe('no permission')
    expect(refusalOf(needing('operator'), admin('push'))).toBe('no permission')
    expect(refusalOf(needing('anyone', 'tokens:issue'), anonymous)).toBe('passes')
    expect(refusalOf(needing('user', 'push'), user)).toBe('passes')
    expect(refusalOf(needing('operator'), operatorPrincipal)).toBe('passes')
  })

  it('has every scope that the operation names, or none was ever given to it', () => {
    const both = needing('user', 'app', 'messages:read')
    const lacks = (scope: Scope) => `no permission: the Admin token lacks the scope ${scope}`
    expect(refusalOf(both, admin('app'))).toBe(lacks('messages:read'))
    expect(refusalOf(both, admin('messages:read', 'push'))).toBe(lacks('app'))
    expect(refusalOf(both, admin('messages:read', 'app'))).toBe('passes')
    expect(refusalOf(both, adminPrincipal('home', 5, null, null))).toBe('passes')
    expect(refusalOf(needing('anyone', 'tokens:issue'), admin('push'))).toBe(lacks('tokens:issue'))
    expect(refusalOf(needing('anyone'), admin('push'))).toBe('passes')
  })

  it('hears of a missing scope before a missing user_id header, whatever the headers are', () => {
    const scoped = (userId: Int64 | null, groupId: Int64 | null) =>
      adminPrincipal('home', userId, groupId, new Set(['push']))
    const headers = [scoped(null, null), scoped(5, null), scoped(null, 7), scoped(5, 7)]
    for (const principal of headers) {
      expect(refusalOf(needing('user', 'groups'), principal)).toContain('the scope groups')
      expect(refusalOf(needing('user', 'push'), principal)).toBe(
        principal.userId === null
          ? 'invalid request parameter: header user_id is required with an Admin token'
          : 'passes',
      )
    }
  })

  it('with every scope one by one passes what a token without a list passes', () => {
    for (const each of operations) {
      const what = each as Operation
      expect(refusalOf(what, admin(...scopeNames)), what.id).toBe(
        refusalOf(what, adminPrincipal('home', 5, null, null)),
      )
    }
  })
})

describe('the user that an Admin token acts for', () => {
  it.each(checked)('must be there for %s, known at once or later', async (rule) => {
    for (const isAtOnce of [true, false]) {
      const options = { isAtOnce }
      expect(
        await outcome(aboutNoGroup(rule), adminPrincipal('home', 5, null, null), options),
      ).toBe('passes')
      expect(
        await outcome(aboutNoGroup(rule), adminPrincipal('home', absent, null, null), options),
      ).toBe('user_not_found')
    }
  })

  it('is asked for once, and not where the operation itself says what becomes of such a user', async () => {
    for (const rule of rules) {
      const asked: Int64[] = []
      await outcome(aboutNoGroup(rule), adminPrincipal('home', absent, null, null), { asked })
      expect(asked, rule).toEqual(checked.includes(rule) ? [absent] : [])
    }
  })

  it('is nobody where the token acts alone, and the user of a user token is not looked up again', async () => {
    const asked: Int64[] = []
    expect(
      await outcome(aboutNoGroup('member'), adminPrincipal('home', null, null, null), { asked }),
    ).toBe('passes')
    expect(await outcome(aboutNoGroup('user'), user, { asked })).toBe('passes')
    expect(asked).toEqual([])
  })
})

describe('the group that an Admin token acts on (rule C5)', () => {
  it.each(['user', 'member', 'groupMember', 'groupUser'] as const)(
    'is the only one that %s may be about',
    async (rule) => {
      for (const isAtOnce of [true, false]) {
        const principal = adminPrincipal('home', 5, 7, null)
        const call = (group_id: Int64) =>
          outcome(aboutGroup(rule), principal, { params: { group_id }, isAtOnce })
        expect(await call(7)).toBe('passes')
        expect(await call(8)).toBe('no_permission')
        expect(await call(2n ** 62n)).toBe('no_permission')
      }
    },
  )

  it('means nothing where the operation is about no group', async () => {
    const params = { group_id: 8 }
    expect(
      await outcome(aboutNoGroup('member'), adminPrincipal('home', 5, 7, null), { params }),
    ).toBe('passes')
  })

  it('comes before the user, unless the operation is about a user', async () => {
    const call = (rule: CallerRule) =>
      outcome(aboutGroup(rule), adminPrincipal('home', absent, 7, null), {
        params: { group_id: 8 },
      })
    expect(await Promise.all([call('member'), call('groupMember')])).toEqual([
      'no_permission',
      'no_permission',
    ])
    expect(await Promise.all([call('user'), call('groupUser')])).toEqual([
      'user_not_found',
      'user_not_found',
    ])
  })
})

it('a claim must name the user that the call is about, before anything is asked of that user', async () => {
  const claiming = { ...aboutNoGroup('user'), claims: ['user_id'] }
  const call = (principal: Principal, user_id: Int64) =>
    outcome(claiming, principal, { params: { user_id } })
  expect(await call(user, 1001)).toBe('passes')
  expect(await call(user, 1002)).toBe('no_permission')
  expect(await call(adminPrincipal('home', 5, null, null), 5)).toBe('passes')
  expect(await call(adminPrincipal('home', absent, null, null), 5)).toBe('no_permission')
  expect(await call(adminPrincipal('home', absent, null, null), absent)).toBe('user_not_found')
})

it('a claim that is absent is no claim', async () => {
  const claiming = { ...aboutNoGroup('member'), claims: ['user_id'] }
  expect(await outcome(claiming, user, { params: {} })).toBe('passes')
  expect(await outcome(claiming, adminPrincipal('home', null, null, null), { params: {} })).toBe(
    'passes',
  )
})

it('one of several claims must name a user with a token, and an Admin token that needs no user may name any', async () => {
  const claiming = { ...aboutNoGroup('userOrAdmin'), claims: ['from', 'to'] }
  const call = (principal: Principal, from: Int64, to: Int64) =>
    outcome(claiming, principal, { params: { from, to } })
  expect(await call(user, 1001, 1002)).toBe('passes')
  expect(await call(user, 1002, 1001)).toBe('passes')
  expect(await call(user, 1002, 1003)).toBe('no_permission')
  expect(await call(adminPrincipal('home', 5, null, null), 1002, 1003)).toBe('passes')
  expect(await call(adminPrincipal('home', null, null, null), 1002, 1003)).toBe('passes')
})
