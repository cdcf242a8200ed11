import {
  AppError,
  boolean,
  type CallerRule,
  callerRules,
  type Operation,
  operation,
  type TokenKind,
} from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import { type Authenticator, authenticate } from './authenticate.js'
import { requireCaller } from './authorize.js'
import type { Credentials } from './call.js'
import { adminPrincipal, operatorPrincipal, type Principal, userPrincipal } from './principal.js'

const rules = Object.keys(callerRules) as CallerRule[]
const appRules = rules.filter((rule) => rule !== 'operator' && rule !== 'ticket')
const adminRules = appRules.filter((rule) => rule !== 'device')

/** Two apps, `home` and `closed`, with a few tokens at home. */
const authenticator: Authenticator = {
  async requireApp(appId) {
    if (appId === 'closed') throw new AppError('app_inactive')
    if (appId !== 'home' && appId !== 'other') throw new AppError('app_not_found')
  },
  async findAdminToken(appId, token) {
    if (appId !== 'home') return null
    if (token === 'hma_expired') return 'expired'
    if (token === 'hma_sender') return { scopes: new Set(['messages:send']) }
    return token === 'hma_valid' ? { scopes: null } : null
  },
  async findUserToken(appId, token) {
    if (appId !== 'home') return null
    if (token === 'hmu_expired') return 'expired'
    return token === 'hmu_valid'
      ? { userId: 1001, deviceSn: 2, tokenHash: 'hash', isBot: false }
      : null
  },
  findSigner: async (appId, { storeToken, signature, target }) =>
    `${appId} ${storeToken} ${signature} ${target}` === 'home hms_1 signed /file?name=x'
      ? 1001
      : null,
  findTicket: async (ticket) =>
    ticket === 'valid'
      ? { appId: 'home', payerId: 1001 }
      : ticket === 'of closed'
        ? { appId: 'closed', payerId: 1001 }
        : null,
  isOperatorToken: async (token) => token === 'hmo_valid',
}

function operationFor(callers: CallerRule): Operation {
  return operation({
    id: 'test.it',
    methods: ['POST'],
    path: '/test',
    tag: 'Tests',
    summary: 'Tests.',
    callers,
    data: boolean(),
  }) as Operation
}

const noCredentials: Credentials = {
  appId: 'home',
  accessToken: undefined,
  userId: undefined,
  groupId: undefined,
}

/** The principal as the pipeline finds it, or the refusal. */
async function principalOrRefusal(
  callers: CallerRule,
  sent: Partial<Credentials> | Principal,
): Promise<Principal | string> {
  const operation = operationFor(callers)
  try {
    const principal =
      'kind' in sent
        ? sent
        : await authenticate(authenticator, operation, {
            credentials: { ...noCredentials, ...sent },
            address: '192.0.2.1',
          })
    requireCaller(operation, principal)
    return principal
  } catch (error) {
    if (error instanceof AppError) return `${error.entry.code} ${error.message}`
    throw error
  }
}

const user = userPrincipal('home', { userId: 1001, deviceSn: 2, tokenHash: 'hash', isBot: false })
const anonymous = { kind: 'anonymous', appId: 'home' }
const admin = adminPrincipal('home', null, null, null)

it('tells whose token it is from whom something is done for', () => {
  expect(user).toEqual({
    kind: 'user',
    appId: 'home',
    userId: 1001,
    deviceSn: 2,
    tokenHash: 'hash',
    isBot: false,
    isAdminToken: false,
    adminOf: null,
    actorId: 1001,
    tokenOwnerId: 1001,
  })
  expect(adminPrincipal('home', 5, 7, null)).toEqual({
    kind: 'admin',
    appId: 'home',
    userId: 5,
    deviceSn: null,
    isAdminToken: true,
    adminOf: 7,
    scopes: null,
    actorId: 5,
    tokenOwnerId: 0,
  })
  expect(admin).toMatchObject({ userId: null, adminOf: null, actorId: 0, tokenOwnerId: 0 })
})

function isOpenTo(rule: CallerRule, kind: TokenKind): boolean {
  return callerRules[rule].tokens.some((token) => token === kind)
}

describe('the application', () => {
  it.each(appRules)('must be named for %s', async (rule) => {
    for (const appId of [undefined, '']) {
      const refusal = await principalOrRefusal(rule, {
        appId,
        accessToken: 'hma_valid',
        userId: '1',
      })
      expect(refusal).toBe('10002 invalid request parameter: header app_id is required')
    }
  })

  it('may be missing for a known reason, which the answer gives', async () => {
    expect(await principalOrRefusal('user', { appId: undefined, appIdHint: 'a proxy' })).toBe(
      '10002 invalid request parameter: header app_id is required (a proxy)',
    )
    expect(await principalOrRefusal('user', { appId: 'home', appIdHint: 'a proxy' })).not.toMatch(
      /proxy/,
    )
  })

  it.each(appRules)('must exist and be active for %s', async (rule) => {
    expect(await principalOrRefusal(rule, { appId: 'nowhere', accessToken: 'hma_valid' })).toMatch(
      /^40000 /,
    )
    expect(await principalOrRefusal(rule, { appId: 'closed', accessToken: 'hma_valid' })).toMatch(
      /^40003 /,
    )
  })
})

describe('the token (rule C1)', () => {
  const guarded = appRules.filter((rule) => !isOpenTo(rule, 'none'))

  it.each(guarded)('is asked for by %s', async (rule) => {
    for (const accessToken of [undefined, ''])
      expect(await principalOrRefusal(rule, { accessToken })).toBe('10003 access-token is missing')
  })

  it.each(guarded)(
    'is invalid for %s when it is malformed, unknown or of another application',
    async (rule) => {
      for (const accessToken of [
        'x',
        'hmu_',
        'hma_',
        'hmu_unknown',
        'hma_unknown',
        'HMA_valid',
        'hma_valid, hma_valid',
        'hmo_valid',
        ' hmu_valid',
      ]) {
        expect(await principalOrRefusal(rule, { accessToken, userId: '1001' }), accessToken).toBe(
          '10008 access-token is invalid',
        )
      }
      for (const accessToken of ['hmu_valid', 'hma_valid', 'hmu_expired', 'hma_expired']) {
        expect(
          await principalOrRefusal(rule, { appId: 'other', accessToken, userId: '1001' }),
          accessToken,
        ).toBe('10008 access-token is invalid')
      }
    },
  )

  it.each(guarded)('that ended is told apart for %s', async (rule) => {
    for (const accessToken of ['hmu_expired', 'hma_expired']) {
      expect(await principalOrRefusal(rule, { accessToken, userId: '1001' })).toBe(
        '402 access-token expired or revoked',
      )
    }
  })

  it.each(appRules)('of a user or an Admin opens %s as declared', async (rule) => {
    const asUser = await principalOrRefusal(rule, { accessToken: 'hmu_valid' })
    const asAdmin = await principalOrRefusal(rule, { accessToken: 'hma_valid', userId: '5' })
    if (isOpenTo(rule, 'none')) expect(asUser).toEqual(anonymous)
    else if (isOpenTo(rule, 'user')) expect(asUser).toEqual(user)
    else expect(asUser).toBe('10010 no permission')
    if (isOpenTo(rule, 'admin')) expect(asAdmin).toEqual(adminPrincipal('home', 5, null, null))
    else expect(asAdmin).toBe('10010 no permission')
  })

  it('is not checked where none is needed, so that it keeps no user from logging in', async () => {
    for (const accessToken of [
      undefined,
      'x',
      'hmu_unknown',
      'hmu_expired',
      'hmu_valid',
      'hma_unknown',
      'hma_expired',
      'hmo_valid',
    ]) {
      expect(await principalOrRefusal('anyone', { accessToken })).toEqual(anonymous)
    }
    expect(await principalOrRefusal('anyone', { accessToken: 'hma_valid' })).toEqual(admin)
  })
})

describe('the user_id header (rules C3, C5)', () => {
  it('may repeat the own user of a user token and name nobody else', async () => {
    expect(await principalOrRefusal('user', { accessToken: 'hmu_valid', userId: '1001' })).toEqual(
      user,
    )
    expect(await principalOrRefusal('user', { accessToken: 'hmu_valid', userId: '' })).toEqual(user)
    for (const userId of ['1002', '0', '-1001', '9223372036854775807']) {
      expect(await principalOrRefusal('user', { accessToken: 'hmu_valid', userId })).toBe(
        '10010 no permission: header user_id names another user',
      )
    }
  })

  it('says for whom an Admin token acts, exactly', async () => {
    expect(
      await principalOrRefusal('user', { accessToken: 'hma_valid', userId: '9007199254740993' }),
    ).toEqual(adminPrincipal('home', 9007199254740993n, null, null))
    expect(await principalOrRefusal('sender', { accessToken: 'hma_valid' })).toEqual(admin)
  })

  it.each(adminRules)('is needed with an Admin token where %s is about one user', async (rule) => {
    const found = await principalOrRefusal(rule, { accessToken: 'hma_valid' })
    if (callerRules[rule].subject !== 'required') expect(found).toEqual(admin)
    else
      expect(found).toBe(
        '10002 invalid request parameter: header user_id is required with an Admin token',
      )
  })

  it('must be a 64-bit integer, as must group_id, and both violations are named', async () => {
    for (const bad of ['x', '1.5', '1, 1', '9223372036854775808', '-9223372036854775809', '0x1']) {
      expect(
        await principalOrRefusal('user', { accessToken: 'hma_valid', userId: bad, groupId: bad }),
      ).toBe(
        '10002 invalid request parameter: header user_id must be a 64-bit integer; header group_id must be a 64-bit integer',
      )
    }
  })
})

it('the scopes of an Admin token are those of its list, with every header', async () => {
  const scopes = new Set(['messages:send'])
  for (const [userId, groupId] of [[], ['5'], ['5', '7'], [undefined, '7']])
    expect(
      await principalOrRefusal('sender', { accessToken: 'hma_sender', userId, groupId }),
    ).toEqual(
      adminPrincipal(
        'home',
        userId ? Number(userId) : null,
        groupId ? Number(groupId) : null,
        scopes,
      ),
    )
})

describe('the group_id header (rule C4)', () => {
  it.each(adminRules)('of an Admin token is heard by %s', async (rule) => {
    expect(
      await principalOrRefusal(rule, { accessToken: 'hma_valid', userId: '5', groupId: '7' }),
    ).toEqual(adminPrincipal('home', 5, 7, null))
  })

  it('needs an Admin token', async () => {
    expect(
      await principalOrRefusal('groupMember', { accessToken: 'hma_valid', groupId: '7' }),
    ).toEqual(adminPrincipal('home', null, 7, null))
    expect(
      await principalOrRefusal('groupMember', { accessToken: 'hmu_valid', groupId: '7' }),
    ).toBe('10010 no permission: header group_id needs an Admin token')
    expect(await principalOrRefusal('user', { accessToken: 'hmu_valid', groupId: '7' })).toBe(
      '10010 no permission: header group_id needs an Admin token',
    )
  })
})

describe('an operator operation', () => {
  it('asks for an operator token and for no application', async () => {
    expect(
      await principalOrRefusal('operator', { appId: undefined, accessToken: 'hmo_valid' }),
    ).toEqual({
      kind: 'operator',
    })
    expect(
      await principalOrRefusal('operator', { appId: 'nowhere', accessToken: 'hmo_valid' }),
    ).toEqual({
      kind: 'operator',
    })
  })

  it.each([
    [undefined, '10003 access-token is missing'],
    ['', '10003 access-token is missing'],
    ['x', '10008 access-token is invalid'],
    ['hmo_', '10008 access-token is invalid'],
    ['hmo_unknown', '10008 access-token is invalid'],
    ['hma_valid', '10010 no permission'],
    ['hmu_valid', '10010 no permission'],
  ])('refuses the token %j', async (accessToken, refusal) => {
    expect(await principalOrRefusal('operator', { accessToken })).toBe(refusal)
  })

  it('takes the word of a transport that only the operator can reach, which opens nothing else', async () => {
    expect(await principalOrRefusal('operator', operatorPrincipal)).toEqual({ kind: 'operator' })
    for (const rule of appRules)
      expect(await principalOrRefusal(rule, operatorPrincipal)).toMatch(/^10010 /)
  })
})

describe('what takes the place of a token', () => {
  const found = (changes: Partial<Operation>, sent: Partial<Credentials>) =>
    authenticate(
      authenticator,
      { ...operationFor('member'), ...changes },
      { credentials: { ...noCredentials, ...sent }, address: '192.0.2.1' },
    )
  const signed = {
    storeToken: 'hms_1',
    signature: 'signed',
    method: 'GET',
    target: '/file?name=x',
  } as const

  it('is a signature that is valid, where no token was sent', async () => {
    const signer = userPrincipal('home', {
      userId: 1001,
      deviceSn: null,
      tokenHash: '',
      isBot: false,
    })
    expect(await found({}, { signed })).toEqual(signer)
    const bad = { ...signed, target: '/file?name=y' }
    await expect(found({}, { signed: bad })).rejects.toThrow('access-token is invalid')
    await expect(found({}, { signed, accessToken: 'hmu_other' })).rejects.toThrow('is invalid')
  })

  it('is a ticket where one is asked for, with nothing beside it, of an application that is active', async () => {
    const ticket = (text: string | undefined) =>
      found({ credentials: 'ticket' }, { appId: undefined, ticket: text })
    expect(await ticket('valid')).toEqual({
      kind: 'ticket',
      appId: 'home',
      payerId: 1001,
      ticket: { appId: 'home', payerId: 1001 },
    })
    for (const text of ['forged', '', undefined])
      await expect(ticket(text)).rejects.toThrow('upload ticket is invalid')
    await expect(ticket('of closed')).rejects.toThrow(AppError)
  })
})
