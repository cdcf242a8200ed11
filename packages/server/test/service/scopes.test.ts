/**
 * Scopes of Admin tokens (rule C8): every operation by tokens with one scope each, over HTTP and over
 * the socket, with both headers and without. scope-limits.test.ts has what a scope never reaches.
 */
import {
  type CallerRule,
  callerRules,
  missingScope,
  type Operation,
  openSession,
  operations,
  type Scope,
  scopeNames,
} from '@hermod/protocol'
import {
  type Answer,
  anyBackend,
  type Backend,
  type Envelope,
  GatewayClient,
  isFullRun,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aGroup } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { namedScope, scopedToken } from '../support/scoped-tokens.js'
import { everyMethod } from '../support/walk/walk-world.js'

const [backend] = anyBackend()

function isForAdmins({ callers }: { readonly callers: CallerRule }): boolean {
  return callerRules[callers].tokens.includes('admin')
}

/** What a token with these scopes is to be told; null: nothing about scopes. */
function expectedScope(operation: Operation, scopes: readonly Scope[] | undefined): Scope | null {
  if (!isForAdmins(operation)) return null
  return missingScope(operation.scopes, scopes === undefined ? null : new Set(scopes))
}

/** A file is no refusal. */
function envelopeOf({ headers, envelope }: Answer): Pick<Envelope, 'code' | 'message'> {
  const isJson = `${headers['content-type']}`.startsWith('application/json')
  return isJson ? envelope : { code: 200, message: null }
}

/** Callers are checked before parameters, so calls need none; a wrong one keeps the user. */
function paramsOf({ id }: Pick<Operation, 'id'>): object {
  return id === 'user.delete' ? { password: 'x'.repeat(200) } : {}
}

async function inTurns<T>(items: readonly T[], atOnce: number, act: (item: T) => Promise<void>) {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await act(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

describe('the walk', () => {
  let server: InProcessServer
  let headers: readonly { readonly userId?: number; readonly groupId?: number }[]

  beforeAll(async () => {
    server = await InProcessServer.start(backend as Backend)
    const user = await server.api.newSession()
    const groupId = await aGroup(user)
    const userId = user.id
    headers = [{}, { userId }, { groupId }, { userId, groupId }]
  })

  afterAll(() => server?.[Symbol.asyncDispose]())

  const lists: readonly (readonly [string, readonly Scope[] | undefined])[] = [
    ...scopeNames.map((scope) => [scope, [scope]] as const),
    ['all eight', scopeNames],
    ['no list', undefined],
  ]

  /** The methods of one operation differ in nothing but the route. */
  const called = isFullRun
    ? everyMethod
    : operations.map((operation) => ({ operation, method: operation.methods[0] as string }))

  it('over HTTP: every operation with the headers answers no_permission exactly where a scope is missing', async () => {
    // Frames have all four, and authorize.test.ts the check itself.
    const headersOf = (call: number) => (isFullRun ? headers : [headers[call % headers.length]])
    const wrong: string[] = []
    const refused: Record<string, number> = {}
    let cases = 0
    for (const [list, [name, scopes]] of lists.entries()) {
      const { token } = await scopedToken(server, scopes)
      const calls = called.flatMap(({ operation, method }, index) =>
        headersOf(list + index).map((named) => ({
          operation: operation as Operation,
          method,
          named,
        })),
      )
      refused[name] = 0
      await inTurns(calls, 16, async ({ operation, method, named }) => {
        const { appId } = server
        const body = method === 'GET' ? undefined : paramsOf(operation)
        const options = { token, appId, ...named, body }
        const answer = await server.http.call(method, operation.path, options)
        const found = namedScope(envelopeOf(answer))
        const expected = expectedScope(operation, scopes)
        cases++
        if (found !== null) refused[name] = (refused[name] ?? 0) + 1
        if (found !== expected)
          wrong.push(`${method} ${operation.path} with ${name}, ${JSON.stringify(named)}: ${found}`)
      })
    }
    expect(wrong).toEqual([])
    expect(cases).toBe(lists.length * called.length * headersOf(0).length)
    expect(refused).toMatchObject({ 'all eight': 0, 'no list': 0 })
    for (const scope of scopeNames) expect(refused[scope]).toBeGreaterThan(0)
    console.info(`scopes over HTTP: ${cases} cases, refused ${JSON.stringify(refused)}`)
  })

  it('over the socket: the session needs messages:read, and every frame the scopes of its operation', async () => {
    const watcher = await server.api.newSession()
    const open = async (scopes: readonly Scope[]) => {
      const { token: accessToken } = await scopedToken(server, scopes)
      const client = await GatewayClient.connect(server.url)
      const { appId } = server
      return { client, answer: await client.open({ appId, accessToken, userId: watcher.id }) }
    }
    for (const scope of scopeNames.filter((each) => each !== 'messages:read')) {
      const { client, answer } = await open([scope])
      expect([scope, namedScope(answer)]).toEqual([scope, 'messages:read'])
      await client.closed()
    }
    const framed = operations.filter(({ socket }) => socket !== false)
    const wrong: string[] = []
    let cases = 0
    let refused = 0
    for (const scope of scopeNames) {
      const scopes = [...new Set<Scope>(['messages:read', scope])]
      const { client, answer } = await open(scopes)
      expect(answer.code).toBe(200)
      const calls = framed.flatMap((operation) => headers.map((named) => ({ operation, named })))
      await inTurns(calls, 12, async ({ operation, named }) => {
        const found = namedScope(await client.call(operation.id, paramsOf(operation), named))
        cases++
        if (found !== null) refused++
        if (found !== expectedScope(operation as Operation, scopes))
          wrong.push(`${operation.id} with ${scopes}, ${JSON.stringify(named)}: ${found}`)
      })
      client[Symbol.dispose]()
    }
    expect(wrong).toEqual([])
    expect(cases).toBe(scopeNames.length * framed.length * headers.length)
    console.info(`scopes over the socket: ${cases} cases, ${refused} refused`)
  })

  it('every scope opens operations of its own', () => {
    const all = [...operations, openSession].filter(isForAdmins)
    const counts = scopeNames.map((scope) => [
      scope,
      all.filter((operation) => operation.scopes.includes(scope)).length,
    ])
    console.info(`operations by scope: ${JSON.stringify(Object.fromEntries(counts))}`)
    for (const [, count] of counts) expect(count).toBeGreaterThan(0)
  })
})
