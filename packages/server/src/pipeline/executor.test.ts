import {
  AppError,
  boolean,
  int64,
  type Operation,
  operation,
  optional,
  string,
} from '@hermod/protocol'
import { describe, expect, it, vi } from 'vitest'
import { failureAnswer } from '../http/failure.js'
import { EventLoopBudget } from '../lib/concurrency/event-loop-budget.js'
import type { Session } from '../sessions/session.js'
import { unlimited } from './allowance.js'
import type { Authenticator } from './authenticate.js'
import { type Call, data, type Handler, handle, handleWaiting } from './call.js'
import { noCallLimits } from './call-limits.js'
import { asEnvelope, asValue, Executor, type ExecutorOptions } from './executor.js'
import { adminPrincipal, operatorPrincipal, type Principal } from './principal.js'

const echo = operation({
  id: 'test.echo',
  methods: ['POST'],
  path: '/test/echo',
  tag: 'Tests',
  summary: 'Answers what it is sent.',
  callers: 'anyone',
  scopes: [],
  body: { id: int64() },
  data: int64(),
  extras: { note: optional(string()) },
})
const secret = operation({
  ...echo,
  id: 'test.secret',
  callers: 'admin',
  body: {},
  data: boolean(),
} as never) as Operation
const ofUser = operation({
  ...echo,
  id: 'test.of_user',
  callers: 'user',
} as never) as Operation<{ id: number | bigint }, number | bigint, never, 'user'> & Operation

const everybody: Authenticator = {
  requireApp: async () => {},
  findAdminToken: async () => null,
  findUserToken: async () => null,
  findSigner: async () => null,
  findTicket: async () => null,
  isOperatorToken: async () => false,
}

type EchoHandler = Parameters<
  typeof handle<{ id: number | bigint }, number | bigint, { note?: string }, 'anyone'>
>[1]

/** An executor whose replies are as HTTP answers them. */
class HttpExecutor extends Executor {
  constructor(
    options: ExecutorOptions,
    private readonly statusMode: 'envelope' | 'mirror',
  ) {
    super(options)
  }

  async answer(operation: Operation, call: Call) {
    const reply = await this.execute(operation, call, asEnvelope)
    return reply.kind === 'failure'
      ? { code: reply.error.entry.code, ...failureAnswer(reply.error, this.statusMode) }
      : { status: 200, code: 200, retryAfterSeconds: undefined, body: reply.encoded }
  }
}

/** An executor of one handler that writes down what it reports. */
function setUp(
  run: EchoHandler,
  options: Partial<ExecutorOptions> & { httpStatus?: 'envelope' | 'mirror' } = {},
) {
  const reports: unknown[] = []
  const handler = handle(echo, run as never) as Handler
  const { httpStatus = 'envelope', ...others } = options
  const executorOptions = {
    handlers: [handler],
    authenticator: everybody,
    users: { requireUser: () => {} },
    limits: noCallLimits,
    observer: {
      finished: (call: Call, { id }: Operation, code: number) =>
        void reports.push(['finished', call.requestId, id, code]),
      failed: (call: Call, { id }: Operation, error: unknown) =>
        void reports.push(['failed', call.requestId, id, error]),
    },
    budget: new EventLoopBudget({ perTurn: 1 }),
    checkAnswers: true,
    ...others,
  }
  return { executor: new HttpExecutor(executorOptions, httpStatus), reports }
}

const failing = (error: unknown) => async () => Promise.reject(error)

function callOf(body: unknown = { id: 1 }, accessToken?: string): Call {
  return {
    requestId: 'request-1',
    address: '192.0.2.1',
    userAgent: 'tests',
    baseUrl: 'https://chat.example.org',
    query: {},
    body: () => body,
    credentials: { appId: 'home', accessToken, userId: undefined, groupId: undefined },
  }
}

const operationOf = echo as Operation

describe('a success', () => {
  it('is code 200, the data, message null and the extras', async () => {
    const { executor, reports } = setUp(async ({ id }) => ({ data: id, extras: { note: 'n' } }))
    const answer = await executor.answer(operationOf, callOf())
    expect(answer).toEqual({
      status: 200,
      code: 200,
      retryAfterSeconds: undefined,
      body: '{"code":200,"data":1,"message":null,"note":"n"}',
    })
    expect(reports).toEqual([['finished', 'request-1', 'test.echo', 200]])
  })

  it('has paid for its body before the body was parsed', async () => {
    const steps: unknown[] = []
    const { executor } = setUp(async () => ({ data: 1, extras: { note: 'n' } }), {
      limits: {
        ...noCallLimits,
        bodyArrived: (_call, _principal, tokens) => void steps.push(`address ${tokens}`),
        authenticated: () => ({
          ...unlimited,
          chargeBody: (tokens) => void steps.push(`user ${tokens}`),
        }),
      },
    })
    const body = (arrived: (bytes: number) => void) => {
      arrived(10_000)
      steps.push('parsed')
      return { id: 1 }
    }
    for (const operation of [operationOf, { ...operationOf, copied: ['content'] } as Operation]) {
      steps.length = 0
      expect((await executor.answer(operation, { ...callOf(), body })).code).toBe(200)
      expect(steps).toEqual(['address 2', 'user 2', 'parsed'])
    }
  })

  it('is the value itself for a caller in this process, whose principal is proved already', async () => {
    const seen: unknown[] = []
    const { executor } = setUp(async ({ id }, { principal }) => {
      seen.push(principal)
      return { data: id, extras: { note: 'n' } }
    })
    const { credentials: _, ...source } = callOf({ id: 2n ** 62n })
    const principal = adminPrincipal('home', null, null, null)
    const reply = await executor.execute(operationOf, { ...source, principal }, asValue)
    expect(reply).toEqual({
      kind: 'payload',
      encoded: { data: 2n ** 62n, extras: { note: 'n' } },
    })
    expect(seen).toEqual([principal])
    const operator = { ...source, principal: operatorPrincipal }
    expect(await executor.execute(operationOf, operator, asValue)).toMatchObject({
      kind: 'failure',
      error: { errorName: 'no_permission' },
    })
  })

  it('refuses an operation of a session on other transports, and passes the session on', async () => {
    const seen: unknown[] = []
    const ofSession = { ...operationOf, socket: 'only' } as Operation
    const { executor } = setUp(async ({ id }, context) => {
      seen.push(context.session)
      return { data: id, extras: { note: 'n' } }
    })
    expect((await executor.answer(ofSession, callOf())).code).toBe(50103)
    expect(seen).toEqual([])
    const link = { write() {}, isBehind: false, heardAt: 0, ping() {}, close() {} }
    const session: Session = {
      ...{ id: 1, appId: 'home', userId: 1, deviceSn: 1, tokenHash: '', scopes: null, link },
      ...{ phase: 'live', hasMissed: false, features: new Set<never>() },
    }
    expect((await executor.answer(ofSession, { ...callOf(), session })).code).toBe(200)
    expect((await executor.answer(operationOf, callOf())).code).toBe(200)
    expect(seen).toEqual([session, null])
  })

  it('carries integers beyond 2^53 exactly', async () => {
    const { executor } = setUp(async ({ id }) => data(id))
    const { body } = await executor.answer(operationOf, callOf({ id: '9223372036854775807' }))
    expect(body).toBe('{"code":200,"data":9223372036854775807,"message":null}')
  })

  it('tells the handler who calls, from where and under which request ID', async () => {
    const seen: unknown[] = []
    const { executor } = setUp(async ({ id }, context) => {
      seen.push(context)
      return data(id)
    })
    await executor.answer(operationOf, callOf())
    expect(seen).toEqual([
      {
        principal: { kind: 'anonymous', appId: 'home' },
        baseUrl: 'https://chat.example.org',
        requestId: 'request-1',
        address: '192.0.2.1',
        userAgent: 'tests',
        session: null,
        allowance: unlimited,
      },
    ])
  })
})

describe('a failure', () => {
  const refused = failing(new AppError('user_not_found', '7'))

  it('is HTTP 200 with the code, data null and the text (rule A1)', async () => {
    const { executor, reports } = setUp(refused)
    const answer = await executor.answer(operationOf, callOf())
    expect(answer).toMatchObject({
      status: 200,
      code: 10000,
      body: '{"code":10000,"data":null,"message":"user does not exist: 7"}',
    })
    expect(reports).toEqual([['finished', 'request-1', 'test.echo', 10000]])
  })

  it('has its HTTP class when asked to mirror, with the same envelope', async () => {
    const { executor } = setUp(refused, { httpStatus: 'mirror' })
    expect(await executor.answer(operationOf, callOf())).toMatchObject({
      status: 404,
      body: '{"code":10000,"data":null,"message":"user does not exist: 7"}',
    })
    expect(await executor.answer(operationOf, callOf({}))).toMatchObject({
      status: 400,
      code: 10002,
    })
    expect(await executor.answer(secret, callOf())).toMatchObject({ status: 401, code: 10003 })
  })

  it('of ours tells the request ID, hides the rest and is reported (rule A7)', async () => {
    const thrown = new TypeError('column password_hash does not exist')
    const { executor, reports } = setUp(failing(thrown))
    const answer = await executor.answer(operationOf, callOf())
    expect(answer).toMatchObject({ status: 500, code: 50000 })
    expect(JSON.parse(answer.body)).toEqual({
      code: 50000,
      data: null,
      message: 'internal error: request request-1',
    })
    expect(reports).toEqual([
      ['failed', 'request-1', 'test.echo', thrown],
      ['finished', 'request-1', 'test.echo', 50000],
    ])
  })

  it('of the storage is a real 503 that says when to come back, and is reported with its cause', async () => {
    const error = new AppError('storage_failed', undefined, { cause: new Error('disk full') })
    const { executor, reports } = setUp(failing(error))
    expect(await executor.answer(operationOf, callOf())).toMatchObject({
      status: 503,
      code: 20000,
      retryAfterSeconds: 1,
    })
    expect(reports).toContainEqual(['failed', 'request-1', 'test.echo', error])
  })

  it('is an answer that breaks its definition, when answers are checked', async () => {
    const { executor, reports } = setUp(async () => data('5' as never))
    const answer = await executor.answer(operationOf, callOf())
    expect(answer).toMatchObject({ status: 500, code: 50000 })
    expect(reports[0]).toMatchObject([
      'failed',
      'request-1',
      'test.echo',
      { message: expect.stringContaining('test.echo breaks its definition: data ') },
    ])
    const unchecked = setUp(async () => data('5' as never), { checkAnswers: false })
    expect(await unchecked.executor.answer(operationOf, callOf())).toMatchObject({ code: 200 })
  })

  it('keeps what a handler says about waiting', async () => {
    const { executor } = setUp(
      failing(new AppError('too_many_requests', undefined, { retryAfterSeconds: 7 })),
    )
    expect(await executor.answer(operationOf, callOf())).toMatchObject({
      status: 200,
      code: 42900,
      retryAfterSeconds: 7,
    })
  })
})

describe('the way of a call', () => {
  it('is limit by address, application and token, limit by caller, parameters, handler', async () => {
    const steps: string[] = []
    const limits = {
      ...noCallLimits,
      arrived: ({ address }: Call) => void steps.push(`limit ${address}`),
      authenticated: (_: Call, { kind }: Principal) => {
        steps.push(`limit ${kind}`)
        return { ...unlimited, end: () => void steps.push('end') }
      },
    }
    const requireApp = async (appId: string) => void steps.push(`application ${appId}`)
    const run: EchoHandler = async ({ id }) => {
      steps.push('handler')
      return data(id)
    }
    const { executor } = setUp(run, { limits, authenticator: { ...everybody, requireApp } })
    await executor.answer(operationOf, callOf())
    expect(steps).toEqual([
      'limit 192.0.2.1',
      'application home',
      'limit anonymous',
      'handler',
      'end',
    ])
  })

  it('ends at the limit by address with a real 429, before anything is checked', async () => {
    const checked: string[] = []
    const arrived = () => {
      throw new AppError('address_limited', undefined, { retryAfterSeconds: 3 })
    }
    const { executor } = setUp(failing(new Error('must not run')), {
      limits: { ...noCallLimits, arrived },
      authenticator: { ...everybody, requireApp: async (appId) => void checked.push(appId) },
    })
    expect(await executor.answer(operationOf, callOf())).toMatchObject({
      status: 429,
      code: 42901,
      retryAfterSeconds: 3,
    })
    expect(checked).toEqual([])
  })

  it('ends at the limit by caller with HTTP 200, before parameters are looked at', async () => {
    const authenticated = () => {
      throw new AppError('too_many_requests', undefined, { retryAfterSeconds: 2 })
    }
    const { executor } = setUp(failing(new Error('must not run')), {
      limits: { ...noCallLimits, authenticated },
    })
    expect(await executor.answer(operationOf, callOf({}))).toMatchObject({
      status: 200,
      code: 42900,
      retryAfterSeconds: 2,
    })
  })

  it('tells the limits what authentication refused', async () => {
    const refused: unknown[] = []
    const limits = {
      ...noCallLimits,
      refused: (_: Call, error: unknown) => void refused.push((error as AppError).errorName),
    }
    const { executor } = setUp(failing(new AppError('user_not_found')), { limits })
    await executor.answer(secret, callOf({}, 'hma_unknown'))
    await executor.answer(operationOf, callOf())
    expect(refused).toEqual(['token_invalid'])
  })

  it('does not look at the parameters of somebody who may not call', async () => {
    const { executor } = setUp(failing(new Error('must not run')))
    expect(await executor.answer(ofUser, callOf({}))).toMatchObject({ code: 10003 })
  })

  it('does not run for a token that has ended while the body came', async () => {
    const tokens = { isEnded: false }
    const findUserToken = () =>
      tokens.isEnded ? 'expired' : { userId: 7, deviceSn: null, tokenHash: '', isBot: false }
    const runs: unknown[] = []
    const { executor } = setUp(async ({ id }) => data(id), {
      authenticator: { ...everybody, findUserToken },
      handlers: [
        handle(ofUser, async ({ id }) => {
          runs.push(id)
          return data(id)
        }) as Handler,
      ],
    })
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const answer = executor.answer(ofUser, {
        ...callOf(undefined, 'hmu_token'),
        async body() {
          tokens.isEnded = true
          vi.advanceTimersByTime(1_001)
          return { id: 1 }
        },
      })
      expect(await answer).toMatchObject({ code: 402 })
    } finally {
      vi.useRealTimers()
    }
    expect(runs).toEqual([])
  })

  /** An operation that an Admin token with the scope `push` may call until `lose` is called. */
  function scoped(run: Parameters<typeof handleWaiting>[1] = async () => data(1)) {
    let scopes = new Set(['push'])
    const findAdminToken = () => ({ scopes })
    const needsPush = { ...ofUser, scopes: ['push'], waits: true } as typeof ofUser
    const { executor } = setUp(failing(new Error('must not run')), {
      authenticator: { ...everybody, findAdminToken },
      handlers: [handleWaiting(needsPush, run as never)],
    })
    const call = callOf({ id: 1 }, 'hma_token')
    return {
      call: { ...call, credentials: { ...call.credentials, userId: '5' } } as Call,
      answer: (made: Call) => executor.answer(needsPush, made),
      lose: () => {
        scopes = new Set(['app'])
      },
    }
  }
  const lostPush = {
    code: 10010,
    body: expect.stringContaining('the Admin token lacks the scope push'),
  }

  it('does not run for an Admin token that has lost a scope while the body came', async () => {
    const runs: unknown[] = []
    const { call, answer, lose } = scoped(async () => data(runs.push('run')))
    expect(await answer(call)).toMatchObject({ code: 200 })
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const body = async () => {
        lose()
        vi.advanceTimersByTime(1_001)
        return { id: 1 }
      }
      expect(await answer({ ...call, body })).toMatchObject(lostPush)
    } finally {
      vi.useRealTimers()
    }
    expect(runs).toEqual(['run'])
  })

  it('ends the wait of an Admin token that loses a scope, and shows it nothing', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const waits: string[] = []
      const { call, answer, lose } = scoped(async (_, { signal }) => {
        await new Promise<void>((resolve) => {
          waits.push('begun')
          signal.addEventListener('abort', () => resolve())
        })
        return data(1)
      })
      const answered = answer(call)
      void answered.then(() => waits.push('ended'))
      while (waits.length === 0) await new Promise(setImmediate)
      await vi.advanceTimersByTimeAsync(2_000)
      expect(waits).toEqual(['begun'])
      lose()
      await vi.advanceTimersByTimeAsync(500)
      expect(await answered).toMatchObject(lostPush)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('ends with code 50100 where nothing is built, but names bad parameters all the same', async () => {
    const { executor } = setUp(async ({ id }) => data(id), { handlers: [] })
    expect(await executor.answer(operationOf, callOf())).toMatchObject({
      status: 200,
      code: 50100,
    })
    expect(await executor.answer(operationOf, callOf({}))).toMatchObject({
      status: 200,
      code: 10002,
    })
    expect([...executor.builtOperationIds]).toEqual([])
  })
})

describe('draining', () => {
  it('finishes what runs, refuses what comes, and ends when all is answered', async () => {
    let release = () => {}
    const blocked = new Promise<void>((resolve) => {
      release = resolve
    })
    const { executor } = setUp(async ({ id }) => {
      await blocked
      return data(id)
    })
    const running = executor.answer(operationOf, callOf())
    let isDrained = false
    const drained = executor.drain().then(() => {
      isDrained = true
    })
    expect(await executor.answer(operationOf, callOf())).toMatchObject({
      status: 503,
      code: 50300,
      retryAfterSeconds: 1,
    })
    expect([executor.isDraining, isDrained]).toEqual([true, false])
    release()
    expect(await running).toMatchObject({ code: 200 })
    await drained
  })

  it('is over at once when nothing runs', async () => {
    const { executor } = setUp(async ({ id }) => data(id))
    await executor.answer(operationOf, callOf())
    await executor.drain()
    expect(executor.isDraining).toBe(true)
  })
})

describe('the state of the service', () => {
  it('counts a call that writes from the arrival of its body to its end', async () => {
    const steps: string[] = []
    const state = {
      admit: () => void steps.push('admitted'),
      begin: () => steps.push('begun') > 0,
      writeEnded: () => void steps.push('ended'),
    }
    const run = async () => {
      steps.push('run')
      return { data: 1 }
    }
    const { executor } = setUp(run, { state })
    const body = async () => {
      steps.push('arrived')
      return { id: 1 }
    }
    await executor.answer(operationOf, { ...callOf(), body })
    expect(steps).toEqual(['admitted', 'arrived', 'begun', 'run', 'ended'])
  })

  it('refuses a call whose body arrives after maintenance began', async () => {
    const run = vi.fn()
    const begin = () => {
      throw new AppError('unavailable', 'maintenance')
    }
    const { executor } = setUp(run, {
      state: { admit: () => {}, begin, writeEnded: () => {} },
    })
    const { code } = await executor.answer(operationOf, callOf())
    expect(code).toBe(50300)
    expect(run).not.toHaveBeenCalled()
  })
})
