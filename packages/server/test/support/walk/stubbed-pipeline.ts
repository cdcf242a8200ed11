import { AppError, type ErrorName, type Operation, operations } from '@hermod/protocol'
import { type Json, stringifyExactJson } from '@hermod/testkit'
import { parseQuery } from '../../../dist/http/query.js'
import { EventLoopBudget } from '../../../dist/lib/concurrency/event-loop-budget.js'
import { parseJson } from '../../../dist/lib/json.js'
import type { Authenticator } from '../../../dist/pipeline/authenticate.js'
import type { CallContext, Handler } from '../../../dist/pipeline/call.js'
import { noCallLimits } from '../../../dist/pipeline/call-limits.js'
import { asValue, Executor } from '../../../dist/pipeline/executor.js'
import type { Principal } from '../../../dist/pipeline/principal.js'
import type { Session } from '../../../dist/sessions/session.js'
import type { CallerIdentities } from './walk-callers.js'
import { type Identity, type Params, requestOf } from './walk-world.js'

/** The outcome of a call: the principal that reached the handler, or the refusal of the pipeline. */
export interface Outcome {
  readonly principal: Principal | null
  readonly error: ErrorName | null
  readonly message: string
}

export const passwordOfStubs = 'correct horse'

const account = (appId: string, id: number) => ({
  ...{ appId, id, username: `user_${id}`, password: passwordOfStubs },
  token: `hmu_${appId}_${id}`,
})
/** A user and a friend of the first application, as fixtures name them. */
export const subject = account('here', 11)
const other = account('here', 12)
const foreigner = account('there', 13)
const inDisabled = account('closed', 14)

export const identities: CallerIdentities = {
  here: { appId: 'here', adminToken: 'hma_here' },
  disabled: { appId: 'closed', adminToken: 'hma_closed' },
  ...{ foreigner, other, inDisabled },
  tokens: {
    malformed: 'x',
    'user expired': 'hmu_here_expired',
    'user revoked': 'hmu_here_expired',
    'user unknown': 'hmu_unknown',
    'user foreign': foreigner.token,
    'admin valid': 'hma_here',
    'admin expired': 'hma_here_expired',
    'admin revoked': 'hma_here_expired',
    'admin unknown': 'hma_unknown',
    'admin foreign': 'hma_there',
    'operator valid': 'hmo_valid',
    'operator unknown': 'hmo_unknown',
  },
  groups: { own: 21, other: 22, foreign: 23 },
}

const users = [subject, other, foreigner, inDisabled]
const usersOf = (appId: string) => users.filter((user) => user.appId === appId)

/** Stands for the session of a connected client. */
const session: Session = {
  ...{ id: 1, appId: 'here', userId: subject.id, deviceSn: null, tokenHash: '', scopes: null },
  link: { write() {}, isBehind: false, heardAt: 0, ping() {}, close() {} },
  ...{ phase: 'live', hasMissed: false, features: new Set<never>() },
}
/** Stands for a transport that moves files. */
const moveNoFile = { admit() {} }

/** Answers as the token stores do; pipeline.test.ts has the real ones. */
const authenticator: Authenticator = {
  requireApp(appId) {
    if (appId === 'closed') throw new AppError('app_inactive')
    if (appId !== 'here' && appId !== 'there') throw new AppError('app_not_found')
  },
  findAdminToken(appId, token) {
    if (token === `hma_${appId}_expired`) return 'expired'
    return token === `hma_${appId}` ? { scopes: null } : null
  },
  findUserToken(appId, token) {
    if (token === `hmu_${appId}_expired`) return 'expired'
    const user = usersOf(appId).find((each) => each.token === token)
    return user ? { userId: user.id, deviceSn: null, tokenHash: '', isBot: false } : null
  },
  findSigner: async () => null,
  findTicket: async () => null,
  isOperatorToken: async (token) => token === 'hmo_valid',
}

/**
 * The real pipeline and the real table of operations, with stubs for handlers, tokens and users: no
 * HTTP and no database.
 */
export class StubbedPipeline {
  #reachedBy: Principal | null = null
  readonly #executor = new Executor({
    handlers: operations.map(
      (operation): Handler => ({
        operation: operation as Operation,
        run: async (_, { principal }: CallContext<'anyone'>) => {
          this.#reachedBy = principal
          return { data: null }
        },
      }),
    ),
    authenticator,
    users: {
      requireUser(appId, userId) {
        if (!usersOf(appId).some(({ id }) => id === userId)) throw new AppError('user_not_found')
      },
    },
    limits: noCallLimits,
    observer: { finished() {}, failed() {} },
    budget: new EventLoopBudget({ perTurn: 1 }),
    checkAnswers: false,
  })

  /** Calls with query and body as texts, as a transport has them. Calls follow each other. */
  async call(
    operation: Operation,
    identity: Identity,
    params: Params = {},
    method = operation.methods[0] as string,
  ): Promise<Outcome> {
    return this.send(operation, identity, requestOf(operation, method, params))
  }

  async send(
    operation: Operation,
    { token, appId, userId, groupId }: Identity,
    { query = {}, body }: { query?: Json; body?: unknown },
  ): Promise<Outcome> {
    this.#reachedBy = null
    const inQuery = parseQuery(queryText(query))
    if (inQuery === null) throw new Error('the query is not percent-encoded UTF-8')
    const text = (value: unknown) =>
      value === undefined || value === null ? undefined : String(value)
    const reply = await this.#executor.execute(
      operation,
      {
        requestId: '1',
        address: '192.0.2.1',
        userAgent: 'tests',
        baseUrl: 'http://localhost',
        session,
        query: inQuery,
        body: () => (body === undefined ? undefined : parseJson(stringifyExactJson(body))),
        credentials: {
          appId: text(appId),
          accessToken: text(token),
          userId: text(userId),
          groupId: text(groupId),
          ticket: text(inQuery.ticket),
        },
      },
      asValue,
      moveNoFile,
    )
    const error = reply.kind === 'failure' ? reply.error : null
    return {
      principal: this.#reachedBy,
      error: error?.errorName ?? null,
      message: error?.message ?? '',
    }
  }
}

function queryText(query: Readonly<Record<string, Json>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined)
      .map((one): [string, string] => [name, String(one)]),
  )
  return new URLSearchParams(pairs).toString()
}
