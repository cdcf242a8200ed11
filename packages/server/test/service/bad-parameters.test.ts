/** Every parameter of every operation: what is wrong with it is named, and nothing is left behind (rules A4, B2, B3). */
import { type Operation, operations } from '@hermod/protocol'
import {
  type Answer,
  type Api,
  anyBackend,
  type Json,
  type ServerProcess,
  type Session,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  asQueryText,
  type BadValue,
  badValues,
  type Parameter,
  parametersOf,
  sample,
} from '../support/walk/parameter-values.js'

/** A ticket is a credential; what is wrong with one is told as of a token. */
const withParameters = operations.filter(
  (operation) => operation.callers !== 'ticket' && parametersOf(operation).length > 0,
)
const password = 'correct horse'

for (const backend of anyBackend()) {
  describe(`bad parameters on ${backend.name}`, () => {
    let server: ServerProcess
    let operator: Api
    let alice: Session
    let bob: Session
    let before: unknown

    beforeAll(async () => {
      server = await backend.startServer({ env: { HERMOD_CHECK_ANSWERS: 'on' } })
      operator = server.api.as(server.operatorToken)
      alice = await server.api.newSession('alice')
      bob = await server.api.newSession('bob')
      const message = { content: 'hi', content_type: 0, targets: [bob.id], type: 1 }
      await alice.api.succeed('POST', '/message/send', { body: message })
      before = await everything()
    })

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
    })

    /** All that the API shows of what is stored. */
    async function everything(): Promise<unknown> {
      const reads = [alice, bob].flatMap(({ api, id }) => [
        api.succeed('GET', '/user/profile'),
        api.succeed('GET', '/message/conversation_list'),
        api.succeed('GET', '/message/unread'),
        api.succeed('GET', '/message/conversation', {
          query: { opposite_id: id === alice.id ? bob.id : alice.id, msg_id_start: 0, limit: 100 },
        }),
      ])
      return Promise.all([
        ...reads,
        server.api.admin().succeed('GET', '/user/list'),
        operator.succeed('GET', '/operator/v1/app/list'),
        operator.succeed('GET', '/operator/v1/token/list', { query: { app_id: server.appId } }),
      ])
    }

    /** Parameters that would do something without the bad value beside them. */
    function goodValue({ name, schema }: Parameter): unknown {
      const real: Record<string, unknown> = {
        app_id: server.appId,
        conversation_id: alice.id,
        list: [bob.id],
        name: 'bob',
        login_name: 'bob',
        opposite_id: alice.id,
        password,
        targets: [bob.id],
        user_id: bob.id,
        username: 'carol',
      }
      return Object.hasOwn(real, name) ? real[name] : sample(schema)
    }

    interface Given {
      readonly parameter: Parameter
      readonly value: unknown
    }

    /** Calls with the given values and good ones for whatever else is required, each where the contract puts it, if it can stand there. */
    function callWith(
      operation: Operation,
      method: string,
      given: readonly Given[],
    ): Promise<Answer> {
      const others = parametersOf(operation).filter(
        ({ isRequired, name }) =>
          isRequired && !given.some(({ parameter }) => parameter.name === name),
      )
      const all = [
        ...others.map((parameter) => ({ parameter, value: goodValue(parameter) })),
        ...given,
      ]
      const query: Record<string, string> = {}
      const body: Record<string, unknown> = {}
      for (const { parameter, value } of all) {
        const text = parameter.home === 'query' ? asQueryText(parameter.schema, value) : undefined
        if (text === undefined) body[parameter.name] = value
        else query[parameter.name] = text
      }
      const api = operation.callers === 'operator' ? operator : server.api.admin({ userId: bob.id })
      return api.call(method, operation.path, method === 'GET' ? { query } : { query, body })
    }

    /** A query says less than a body: GET cannot carry every bad value. */
    function badValuesFor({ schema }: Parameter, method: string): BadValue[] {
      return method === 'GET'
        ? badValues(schema).filter(({ value }) => asQueryText(schema, value) !== undefined)
        : badValues(schema)
    }

    function names({ status, code, envelope }: Answer, name: string): boolean {
      const expected = new RegExp(
        `(?:parameter: |; )${name}(?:\\[\\d+\\])?(?:\\.\\w+)* (?:must|is required)`,
      )
      return (
        status === 200 &&
        code === answerCode.invalid_parameter &&
        envelope.data === null &&
        expected.test(envelope.message ?? '')
      )
    }

    /** Descriptions of the answers that do not name the parameter. */
    async function unnamed(
      cases: readonly { what: string; name: string; answer: Promise<Answer> }[],
    ): Promise<string[]> {
      const results = await Promise.all(
        cases.map(async ({ what, name, answer }) => ({ what, name, answer: await answer })),
      )
      return results
        .filter(({ name, answer }) => !names(answer, name))
        .map(({ what, answer }) => `${what}: ${answer.text.slice(0, 300)}`)
    }

    it.each(withParameters.map((operation) => ({ id: operation.id, operation })))(
      'are named by $id, one by one',
      async ({ operation }) => {
        for (const method of operation.methods) {
          const cases = parametersOf(operation).flatMap((parameter) => {
            const { name, schema, isRequired } = parameter
            const bad = badValuesFor(parameter, method)
            const absent = schema.type === 'string' ? [] : [{ what: 'empty', value: '' }]
            const missing = [
              { what: 'missing', value: undefined },
              ...(method === 'GET' ? [] : [{ what: 'null', value: null }]),
              ...absent,
            ]
            return [...bad, ...(isRequired ? missing : [])].map(({ what, value }) => ({
              what: `${method} with ${name} ${what}`,
              name,
              answer: callWith(operation, method, [{ parameter, value }]),
            }))
          })
          expect(await unnamed(cases)).toEqual([])
        }
      },
    )

    it.each(withParameters.map((operation) => ({ id: operation.id, operation })))(
      'are named by $id all together',
      async ({ operation }) => {
        for (const method of operation.methods) {
          const given = parametersOf(operation).flatMap((parameter) => {
            const [bad] = badValuesFor(parameter, method)
            return bad === undefined ? [] : [{ parameter, value: bad.value }]
          })
          const answer = callWith(operation, method, given)
          expect(
            await unnamed(
              given.map(({ parameter: { name } }) => ({ what: `${method} ${name}`, name, answer })),
            ),
          ).toEqual([])
        }
      },
    )

    it('leave nothing behind', async () => {
      expect(await everything()).toEqual(before)
      const { data } = (await operator.succeed('POST', '/operator/v1/check')) as Json
      expect(data.faults).toEqual([])
    })
  })
}
